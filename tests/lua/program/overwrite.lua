-- The warning about assignments to names of the language, and reload, each in a program of its own.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local write = shell.write_file

-- What the program prints, standard error first, for an input and arguments.
local function run(input, arguments)
  return (shell.input(input, arguments))
end

local function check(name, got, want)
  tap.ok(got == want, name, ("got: %q\nexpected: %q"):format(got, want))
end

local path = os.tmpname()
local WARNING <const> = "%s:%d: warning: '%s' is a name of the language; " ..
  "this assignment replaces it\n"

local function warning(line, name, where)
  return WARNING:format(where or path, line, name)
end

-- What a script is warned about.
local function check_script(name, text, want)
  write(path, text)
  check(name, run("", path), want)
end

check_script("an assignment", "local x\nx = 1\ntile = 3\nx = tile\n", warning(3, "tile"))
check_script("a function", "function copy() end\n", warning(1, "copy"))
check_script("one of several", "x,\nL = 1, 2\n", warning(2, "L"))
check_script("inside of blocks", [[
local x = ...
if x then elseif not x then copy = 1 else gemm = 1 end
for _ = 1, 0 do size = 1 end
while x do repeat rank = 1 until x end
local function f() return function() do shape = 1 end end end
f()
]], warning(2, "copy") .. warning(2, "gemm") .. warning(3, "size") .. warning(4, "rank") ..
  warning(5, "shape"))
check_script("as a target among others", "local t, i = {}, 1\ntile, t[i] = 1, 2\n" ..
  "t.x, copy\n= 1\ngemm --[[ = ]] = 1\n",
  warning(2, "tile") .. warning(3, "copy") .. warning(5, "gemm"))
check_script("once a name", "tile = 3\ntile = 4\n", warning(1, "tile"))
check_script("a local is none", "local tile, copy = 3\ntile = 4\nlocal function gemm() end\n" ..
  "function copy() gemm = 2 end\ngemm()\n", "")
check_script("a parameter is none", "local function f(size) size = 3 return size end\nf()\n", "")
check_script("a loop's name is none", "for tile = 1, 2 do print(tile) end\n", "1\n2\n")
check_script("a field is none", "local t = {}\nt.tile = 3\nfunction t.copy() end\n" ..
  "function t:gemm() end\nt['size'] = 1\n", "")
check_script("import is none", "import(_ENV)\nimport(_G)\n", "")
check_script("another environment is none", "local _ENV = {}\ntile = 3\n", "")
check_script("a name of Lua counts if it is the language's too", "select = nil\nprint = nil\n",
  warning(1, "select"))
check_script("a text with an environment is none",
  "load('tile = 1', '=t', 't', {})\nload('copy = 1', '=t')\n", warning(1, "copy", "t"))
check_script("a broken text", "print(load('tile = = 1', '=t'))\n",
  "nil\tt:1: unexpected symbol near '='\n")
check("inputs of the loop", run("x = 1\ntile = 3\ntile = 4\nlocal copy = 3\ntile\n"),
  warning(1, "tile", "input 2") .. "4\n")
check("-e", run("", "-e 'x = 1' -e 'tile = 3'"), warning(1, "tile", "(command line 2)"))

local module_path = os.tmpname()
write(module_path, "copy = 1\n")
check("files that are loaded", run(("dofile(%q)\n"):format(module_path)),
  warning(1, "copy", module_path))

-- reload
local reload_call = ("reload(%q)\n"):format(path)
write(path, "count = (count or 0) + 1\nreturn count, 'x'\n")
check("reload runs a file", run(reload_call), "1\tx\n")
check("and again without a path", run(reload_call .. "reload()\n"), "1\tx\n2\tx\n")
check("the script of -i", run("count\nreload()\n", "-i " .. path), "1\n2\tx\n")
check("a path is needed once", run("reload()\n"),
  "input 1:1: reload: no file has been run yet; give its path\n")
check("no such file", run("reload '/nowhere/x.lua'\nreload(3)\n"),
  "input 1:1: reload: cannot open /nowhere/x.lua: No such file or directory\n" ..
  "input 2:1: reload: argument 1 is a number; the path of a file was expected\n")
write(path, "reload()\n")
check("a file that runs itself", run("", path), path .. ":1: reload: " .. path ..
  " is being run; call reload() at the prompt when it is done\n")
write(path, ("x = 1\nreturn pcall(reload, %q)\n"):format(path))
check("or by its path", run(reload_call .. "x\n"), "false\t" .. path .. ":2: reload: " .. path ..
  " is being run; call reload() at the prompt when it is done\n1\n")
write(path, "return 1 +\n")
check("a file that does not parse can be mended", run(reload_call ..
  ("f = io.open(%q, 'w'); f:write('return 5'); f:close()\nreload()\n"):format(path)),
  path .. ":2: unexpected symbol near <eof>\n5\n")
write(path, "k = kernel('k', function(x) x[threadIdx.x] = number end)\n")
check("kernels are replaced", run("x = zeros(f32, 4)\nfunction at() return x[1] end\n" ..
  "number = 1.0\n" ..
  ("dofile(%q)\nk{grid = 1, block = 4}(x)\nat()\n"):format(path) ..
  ("f = io.open(%q, 'w'); f:write((\"k = kernel('k', function(x) x[threadIdx.x] = 7.0 end)\"));" ..
    " f:close()\n"):format(path) .. reload_call .. "k{grid = 1, block = 4}(x)\nat()\n"),
  "1.0\n7.0\n")
os.remove(path)
os.remove(module_path)
tap.done()
