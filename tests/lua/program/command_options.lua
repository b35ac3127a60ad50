-- Options of commands stand on both sides of the script, up to `--`; the rest is the script's.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local folder = shell.folder()

local function write(name, text)
  local path = folder .. "/" .. name
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

local exists = shell.exists

-- stdout and stderr in the folder, together, and the exit code.
local function run(arguments)
  local program = cuttle:find "^/" and cuttle or "$OLDPWD/" .. cuttle
  return shell.run("cd %s && CUTTLE_DEVICE=cpu %s %s", folder, program, arguments)
end

local function check(name, arguments, want, want_code)
  local out, code = run(arguments)
  tap.ok(out:find(want, 1, true) and code == want_code, name,
    ("exit code %d\ngot: %s\nexpected: %s"):format(code, out, want))
end

write("x.lua", [[
io.stderr:write("got ", table.concat({...}, " "), "\n")
kernel("k", function(x) x[0] = 1 end){grid = 1, block = 1}(zeros(i32, 1))
]])

-- {====== Both sides ======

check("options of export after the script", "export x.lua -o new/deep --name=N a -1",
  "got a -1\n", 0)
tap.ok(exists(folder .. "/new/deep/N.c"), "-o makes the folder")
check("on both sides", "export --name M x.lua a --dir=new", "got a\n", 0)
tap.ok(exists(folder .. "/new/M.c"), "both count")
check("check", "check x.lua --nan a", "got a\n", 0)
check("profile", "profile x.lua --json a", "got a\n", 0)
check("timeline, whose values follow", "timeline x.lua --svg t.svg a", "got a\n", 0)
check("bench", "bench x.lua --json=b.json a", "got a\n", 0)
check("emit", "emit x.lua --sm=80 a", "got a\n", 0)
check("emit --help", "emit x.lua --help", "usage: cuttle emit", 0)
check("view", "view x.lua --launch=1 -o v.html a", "got a\n", 0)
check("the device, of any command", "check --nan x.lua --device=cpu a", "got a\n", 0)
check("a device that is none", "check x.lua --device=gpu", "device: 'gpu' is unknown", 2)

-- {====== Up to -- ======

for _, command in ipairs {
  "check", "profile", "export -o new", "emit", "view --launch=1 -o v.html",
} do
  check("-- before the script: " .. command, command .. " -- x.lua --sm=80 --nan",
    "got --sm=80 --nan\n", 0)
  check("-- after it: " .. command, command .. " x.lua -- --sm=80 --nan", "got --sm=80 --nan\n", 0)
end

-- {====== Others ======

local mistyped = "cuttle: %s is not an option of %s, so the script gets it; did you mean '%s'?\n"
check("an option of the script", "export x.lua -o new --size=3", "got --size=3\n", 0)
check("one that looks mistyped", "export x.lua -o new --nmae=N",
  mistyped:format("--nmae=N", "export", "--name") .. "got --nmae=N\n", 0)
check("of check", "check x.lua --overflwo",
  mistyped:format("--overflwo", "check", "--overflow") .. "got --overflwo\n", 0)
check("of emit", "emit x.lua --compil",
  mistyped:format("--compil", "emit", "--compile") .. "got --compil\n", 0)
check("of view", "view -o v.html --launch=1 x.lua --opne",
  mistyped:format("--opne", "view", "--open") .. "got --opne\n", 0)
check("an option without its value", "export x.lua --name",
  "export: --name needs a value; see cuttle export --help\n", 1)

-- {====== Before anything runs ======

local out, code = run "export x.lua -o x.lua/y"
tap.ok(code == 1 and out == "export: cannot write to x.lua/y: Not a directory\n",
  "a folder that cannot be made is told before the script runs", out)
out, code = run [[-e 'export(function() print "ran" end, {{}}, {name = "n", dir = "x.lua/y"})']]
tap.ok(code == 1 and out:find "cannot write to x.lua/y" and not out:find "ran",
  "by the function export, too", out)

-- {====== Words that are no script ======

check("an option without its dashes", "version",
  "cuttle: cannot open version: No such file or directory; write cuttle --version\n", 1)
check("a mistyped command", "chekc x.lua",
  "cuttle: cannot open chekc: No such file or directory; did you mean the command 'check'? cuttle "
  .. "--help lists the commands\n", 1)
check("another word", "nothing",
  "cuttle: cannot open nothing: No such file or directory; cuttle --help lists the commands\n", 1)

os.execute("rm -rf " .. folder)
tap.done()
