-- Lines that the CPU engine blames, in files and texts other than the script.
package.path = "tests/support/?.lua;" .. package.path
local helpers = require "kernel_helpers"
local x = zeros(f32, 4)

-- A helper of a module.
local overrun = kernel("overrun", function(x) helpers.overrun(x) end)
print(pcall(overrun{grid = 1, block = 1}, x)) -- expect: false	tests/support/kernel_helpers.lua:23: out of bounds: write of x at 4, extent 4, by thread (0,0,0) of block (0,0,0)

-- A loaded text, with a name and as its own name.
local text = "local t, n = ...\nfor i in range(n) do\n  t[i] = 1.0\nend"
local named = kernel("named", load(text, "=(made)"))
print(pcall(named{grid = 1, block = 1}, x, 5)) -- expect: false	(made):3: out of bounds: write of ...[1] at 4, extent 4, by thread (0,0,0) of block (0,0,0)
local own = kernel("own", load(text .. "\n"))
print(pcall(own{grid = 1, block = 1}, x, 5)) -- expect: false	[string "local t, n = ......"]:3: out of bounds: write of ...[1] at 4, extent 4, by thread (0,0,0) of block (0,0,0)

-- The same text under another name.
local other = kernel("other", load(text, "=(other)"))
print(pcall(other{grid = 1, block = 1}, x, 5)) -- expect: false	(other):3: out of bounds: write of ...[1] at 4, extent 4, by thread (0,0,0) of block (0,0,0)
print(pcall(named{grid = 1, block = 1}, x, 6)) -- expect: false	(made):3: out of bounds: write of ...[1] at 4, extent 4, by thread (0,0,0) of block (0,0,0)

-- A file that is run by the script.
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write("return kernel('filed', function(t)\n  t[-1] = 0.0\nend)\n")
file:close()
local filed = dofile(path)
local ok, message = pcall(filed{grid = 1, block = 1}, x)
os.remove(path)
print(ok, (message:gsub(path, "FILE", 1))) -- expect: false	FILE:2: out of bounds: write of t at -1, extent 4, by thread (0,0,0) of block (0,0,0)

-- A launch that fails leaves what earlier blocks wrote, and the engine goes on.
local k = kernel("some", function(x, n) if threadIdx.x < n then x[threadIdx.x] = 7.0 end end)
print((pcall(k{grid = 1, block = 8}, x, 8))) -- expect: false
k{grid = 1, block = 8}(x, 4)
print(x[3])                                  -- expect: 7.0
