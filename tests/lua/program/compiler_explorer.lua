-- Compiler Explorer would run scripts/packaging/compiler_explorer/cuttle_explorer.lua as here: the
-- options of each compiler in lua.local.properties after those of its type nvrtc. What is read of
-- the output and of standard error is what its sources (asm-parser-ptx.ts, utils.ts) look for.
local tap = dofile "tests/support/tap.lua"
local scratch = dofile "tests/support/folder.lua"
local cuttle = scratch.absolute(arg[-1])
local FOLDER <const> = "scripts/packaging/compiler_explorer/"

-- {====== The configuration ======

local properties = {}
do
  local file <close> = assert(io.open(FOLDER .. "lua.local.properties", "rb"))
  for line in file:lines() do
    local name, value = line:match "^([%w_.]+)=(.*)$"
    if name then properties[name] = value end
    tap.ok(name or line == "" or line:find "^#", "a line of the properties: " .. line, line)
  end
end
tap.is(properties.compilers, "&cuttle", "the group of compilers")
local ids = {}
for id in properties["group.cuttle.compilers"]:gmatch "[^:]+" do ids[#ids + 1] = id end

-- {====== Runs ======

-- The folder has the program, since the file names it by /usr/bin/env.
assert(os.execute(("ln -s '%s' '%s/cuttle'"):format(cuttle, scratch.path)))
local explorer = scratch.absolute(FOLDER .. "cuttle_explorer.lua")

local function start(arguments)
  return scratch.run(('PATH="%s:$PATH" "%s" %s'):format(scratch.path, explorer, arguments))
end

-- What it writes for a script, what it says, and the exit code.
local function compile(id, script)
  scratch.write("example.lua", script)
  os.remove(scratch.path .. "/output.s")
  local said, code = start(("-o '%s/output.s' -lineinfo -ptx %s '%s/example.lua'"):format(
    scratch.path, properties[("compiler.%s.options"):format(id)], scratch.path))
  return scratch.read "output.s", said, code
end

-- The line, column and message that its parser takes of a line of standard error: it puts <source>
-- in the place of the script's path, and matches /^\s*<source>[(:](\d+)(:?,?(\d+):?)?[):]*\s*(.*)/.
local function tag_of(line)
  local path = scratch.path .. "/example.lua"
  local from, to = line:find(path, 1, true)
  if from ~= 1 then return nil end
  return line:sub(to + 1):match "^:(%d+):%s*(.*)"
end

local right <const> = [[
local k = kernel("axpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = a * x[i] + y[i] end
end)
k{grid = 4, block = 256}(2.0, ones(f32, 1000), ones(f32, 1000))
k{grid = 8, block = 128}(2.0, ones(f32, 1000), ones(f32, 1000))
print "said"
]]

local version = start "--version"
tap.ok(version:find "^Cuttle ", "its version fits versionRe", version)
tap.is(properties["group.cuttle.versionRe"], "^Cuttle .*", "as it is given")
local help, help_code = start "--help"
tap.ok(help_code == 0 and help:find("\n  %-%-form=ptx  +%S"), "options are listed", help)

-- {====== PTX ======

local function test_ptx(text)
  local file = text:match '%f[^\n]%s*%.file%s+1%s+"([^"]+)"'
  tap.is(file, scratch.path .. "/example.lua", "PTX names the script")
  local lines = {}
  for line in text:gmatch "%.loc%s+1%s+(%d+)%s+%d+" do lines[tonumber(line)] = true end
  tap.ok(lines[2] and lines[3], "and its lines", text)
  local _, n = text:gsub("%.visible %.entry axpy", "")
  tap.is(n, 2, "each specialisation is written")
  tap.ok(text:find(".target sm_90a", 1, true), "for the compute capability of the options", text)
end

local function test_cuda(text)
  tap.ok(text:find('extern "C" __global__', 1, true) and not text:find("said", 1, true),
    "CUDA C is written alone", text)
end

local tests <const> = { cuttle_ptx = test_ptx, cuttle_cuda = test_cuda }

for _, id in ipairs(ids) do
  local text, said, code = compile(id, right)
  if said:find("NVRTC", 1, true) then
    print("# no NVRTC here: " .. said)
  else
    tap.is(said, "said\n", id .. ": what the script prints goes to standard error")
    tap.is(code, 0, id .. ": the exit code")
    tests[id](text)
  end
end

-- {====== Errors and findings ======

local text, said, code = compile("cuttle_cuda", "local n = 1\nlocal x = zoros(f32, n)\n")
local line, message = tag_of(said)
tap.is(line, "2", "an error has its line")
tap.is(message, "error: attempt to call a nil value (global 'zoros'); did you mean 'zeros'?\n",
  "and its message")
tap.ok(code == 1 and text == nil, "it is a failure, and nothing is written", code)

text, said, code = compile("cuttle_cuda", "kernel('k', function(x)\n  x[threadIdx.x] = 1.0\n  "
  .. "x[0] = x[1]\nend){grid = 1, block = 64}(zeros(f32, 64))\n")
line, message = tag_of(said)
tap.is(line, "3", "a finding has its line")
tap.ok(message:find "^warning: race: ", "and is a warning", message)
tap.ok(code == 0 and text:find "__global__", "which is no failure", code)

text = compile("cuttle_cuda", "print(1)")
tap.is(text, "// the script launches no kernel\n", "a script without kernels")
text, said = compile("cuttle_cuda", "print(io, os)\nio.open('x')")
tap.ok(tag_of(said) == "2" and not text, "scripts run in a sandbox", said)
said, code = start "--form=wasm -o output.s example.lua"
tap.ok(code == 1 and said:find("unknown option --form=wasm", 1, true), "an unknown option", said)
said, code = start "-lineinfo -ptx"
tap.ok(code == 1 and said:find("usage:", 1, true), "no script", said)
scratch.remove()
tap.done()
