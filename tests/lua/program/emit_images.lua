-- `cuttle emit --ptx=FILE --cubin=FILE`: the files name script lines: a kernel's statements, what
-- belongs to none of them, calls of the library, and kernels that the library makes.
package.path = "tests/support/?.lua;" .. package.path
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cubin = require "cuttle.cubin"

local function run(command)
  local text, code = shell.cuttle(command)
  return text, code or 0
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

local write = shell.write_file

if not run "info":find "\nNVRTC +%d" then tap.skip_all "no NVRTC" end
local folder = shell.folder()
local script = folder .. "/own.lua"
write(script, [[
local own = kernel("own", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads()
  local v = exp(s[threadIdx.x])
  y[threadIdx.x] = block_reduce(v, "add")
end)
own{grid = 1, block = 32}(zeros(f32, 32), zeros(f32, 32))
own{grid = 1, block = 64}(zeros(f32, 64), zeros(f32, 64))
local A = zeros(f16, {64, 64})
local C = matmul(A, A)
]])

-- The places of a PTX text, each as "file:line". Line 0 is of what has no place.
local function places(ptx)
  local files, found = {}, {}
  for number, path in ptx:gmatch '%.file%s+(%d+) "([^"]*)"' do
    files[number] = path:match "[^/]*$"
  end
  for file, line, rest in ptx:gmatch "%.loc%s+(%d+) (%d+) %d+([^\n]*)" do
    found[("%s:%s%s"):format(files[file], line, rest)] = line ~= "0" or nil
  end
  local list = {}
  for place in pairs(found) do list[#list + 1] = place end
  table.sort(list)
  return table.concat(list, " ")
end

local text, code = run(("emit --sm=80 --ptx='%s/*.ptx' --cubin='%s/*.cubin' %s"):format(folder,
  folder, script))
tap.ok(code == 0 and text == run("emit --sm=80 " .. script), "the same CUDA C is printed", text)
-- The declaration in line 2 may have code, or not.
local lines = "own.lua:1 own.lua:3 own.lua:4 own.lua:5 own.lua:6"
local function is_own(text) return text:gsub("own.lua:2 ", "") == lines end
local ptx = read(folder .. "/own.ptx")
tap.ok(is_own(places(ptx)), "all of a kernel is of lines of the script", places(ptx))
tap.ok(ptx:find("%.entry own%(") and ptx:find("%.target sm_80"), "its name and target", ptx)
local second = read(folder .. "/own_2.ptx")
tap.ok(is_own(places(second)), "so is its second specialisation", places(second))
tap.ok(second:find("%.entry own_2%("), "which has a name of its own", second)
local product = io.popen(("ls '%s' | grep 'matmul.*ptx'"):format(folder)):read "l"
tap.is(places(read(folder .. "/" .. product)), "own.lua:11",
  "a kernel of the library is of the line that calls it")

-- How many instructions of a cubin are of the script, and how many are not.
local function count_lines(name)
  local image = read(("%s/%s.cubin"):format(folder, name))
  local code, paths, numbers = cubin.code(image), cubin.places(image)
  local n, others = #code // 16, 0
  for i = 1, n do
    if numbers[i] == 0 or not paths[i]:find "/own%.lua$" then others = others + 1 end
  end
  return n, others
end
for _, name in ipairs { "own", "own_2", (product:gsub("%.ptx$", "")) } do
  local n, others = count_lines(name)
  tap.ok(n > 16 and others == 0, "each instruction is of the script", name, n, others)
end

-- Options after the script, one file, and what cannot be written.
local one = folder .. "/one.ptx"
text, code = run(("emit %s --ptx %s --sm=90"):format(script, one))
tap.ok(code == 1 and text:find(("own.lua:9: emit: --ptx=%s is one file, and 'own_2' is another "
  .. "specialisation that the script launches; write * for their names: '--ptx=%s/one_*.ptx'")
  :format(one, folder), 1, true), "a second specialisation needs a name", text)
tap.ok(read(one):find "%.target sm_90a", "the first one is written", read(one))
write(script, "print(1)\n")
text, code = run(("emit --cubin=%s/none %s"):format(folder, script))
tap.ok(code == 1 and text == ("1\ncuttle: emit: --cubin=%s/none: the script launched no kernel, so "
  .. "there is no file\n"):format(folder), "a script without a launch", text)
tap.is(run("emit " .. script),
  "1\ncuttle: emit: the script launched no kernel, so there is no CUDA C\n", "and no files")
write(script, "kernel('k', function(x) x[0] = 1 end){grid = 1, block = 1}(zeros(f32, 1))\n")
text, code = run(("emit --cubin=%s/no/where %s"):format(folder, script))
tap.ok(code == 1 and text:find(("own.lua:1: emit: cannot write '%s/no/where': No such file")
  :format(folder), 1, true), "a folder that is not there", text)
text, code = run("emit --ptx= " .. script)
tap.ok(code == 2 and text == "cuttle: --ptx needs a file; see cuttle emit --help\n",
  "--ptx without a file", text)
os.execute(("rm -r '%s'"):format(folder))
tap.done()
