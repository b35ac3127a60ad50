-- What `cuttle emit` prints is one file that a compiler takes: names differ, and helpers are there
-- once.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
local script, source = os.tmpname(), os.tmpname()
local file = assert(io.open(script, "w"))
file:write [[
local divide = kernel("divide", function(x, n)
  x[threadIdx.x] = (x[threadIdx.x] - 7) // n + cast(n, i32)
end)
divide{grid = 1, block = 32}(zeros(i32, 32), 3)
divide{grid = 1, block = 64}(zeros(i32, 64), 3)
divide{grid = 1, block = 64}(zeros(i64, 64), 3)
kernel("divide_2", function(x) printf("%d\n", x[0]) end){grid = 1, block = 1}(zeros(i32, 1))
local own = setmetatable({n = 3}, {__constant = true})
kernel("move", function(x, o) x[0] = x[o.n] end){grid = 1, block = 1}(zeros(f32, 8), own)
local n_calls = 0
bench(function() n_calls = n_calls + 1 end)
assert(n_calls == 1, "bench called it " .. n_calls .. " times")
]]
file:close()

local function emit()
  local pipe = assert(io.popen(("CUTTLE_DEVICE=cpu '%s' emit --sm=80 '%s' 2>/dev/null")
    :format(cuttle, script)))
  local text = pipe:read "a"
  return text, pipe:close()
end

local function count(text, part)
  local n = 0
  for _ in text:gmatch(part) do n = n + 1 end
  return n
end

local text, ok = emit()
tap.ok(ok, "the script runs", text)
local names = {}
for name in text:gmatch "\n([%w_]+)%([^\n]*" do names[#names + 1] = name end
local found = table.concat(names, " ")
tap.ok(found == "divide divide_2 divide_3 divide_2_2 move", "each specialisation has a name", found)
tap.ok(count(text, "int floordiv%(int a") == 1, "a shared helper is there once", text)
tap.ok(count(text, "long long floordiv%(long long a") == 1, "its other types once, too", text)
tap.ok(emit() == text, "a second run prints the same")

local out = assert(io.open(source .. ".cu", "w"))
out:write(text)
out:close()
if os.execute "command -v nvcc > /dev/null" then
  local said, code = shell.run("nvcc -arch=sm_80 -c -o '%s.o' '%s.cu'", source, source)
  tap.ok(code == 0, "nvcc compiles the file", said .. text)
else
  tap.skip("nvcc compiles the file", "no nvcc on this machine")
end

-- Each text makes another function of device_fn.
file = assert(io.open(script, "w"))
file:write [[
local f = device_fn(function(v, text) return v + #text end)
kernel("functions", function(x)
  for i = 1, 257 do x[0] = f(x[0], "text " .. i) end
end, {max_unroll = 300}){grid = 1, block = 1}(zeros(f32, 1))
]]
file:close()
local refusal = assert(io.popen(("CUTTLE_DEVICE=cpu '%s' emit --sm=80 '%s' 2>&1")
  :format(cuttle, script)))
tap.ok(refusal:read "a":find("more than 256 functions of device_fn", 1, true),
  "257 functions are refused")
refusal:close()

for _, name in ipairs { script, source, source .. ".cu", source .. ".o" } do os.remove(name) end
tap.done()
