-- What the program does with its command line: output, messages and exit codes.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

-- stdout and stderr together, and the exit code.
local function run(arguments, input)
  return shell.input(input or "", arguments)
end

local function check(name, arguments, want, want_code, input)
  local out, code = run(arguments, input)
  tap.ok(out == want and code == want_code, name,
    ("exit code %d\ngot: %q\nexpected: %q"):format(code, out, want))
end

local write = shell.file

local script = write("#!/usr/bin/env cuttle\nprint(#arg, arg[1], ...)\n")
local broken = write("local x = 1\nprint(\n")
local failing = write("local function f()\n  error('no')\nend\nf()\n")
local fine = write([[kernel("k", function(x)
  x[0] = 1
end){grid = 1, block = 1}(zeros(i32, 1))
]])
local twin = write([[local k = kernel("twin", function(x)
  x[0] = cuda("__popc($v)", {v = x[0]}, i32, function(v) return v + 1 end)
end)
k{grid = 1, block = 1}(zeros(i32, 1))
]])

check("-e", "-e 'print(1)' -e 'print(size(\"(4,8)\"))'", "1\n32\n", 0)
check("-e without a space", "-e'print(1)'", "1\n", 0)
check("script with arguments", script .. " a -e", "2\ta\ta\t-e\n", 0)
check("-- ends the options", "-- " .. script .. " a", "1\ta\ta\n", 0)
check("script from standard input", "- x", "x\n", 0, "print(...)")
check("syntax error", broken, broken .. ":3: unexpected symbol near <eof>\n", 1)
check("runtime error", failing, failing .. ":2: no\n", 1)
check("error value without text", "-e 'error({})'",
  "(command line):1: the error is a table, not a message\n", 1)
check("error value with __tostring",
  "-e 'error(setmetatable({}, {__tostring = function() return \"mine\" end}))'", "mine\n", 1)
check("error without a value", "-e 'error()'",
  "(command line):1: the error is nil, not a message\n", 1)
check("the first failing -e ends it", "-e 'error(\"a\", 0)' -e 'print(1)'", "a\n", 1)
check("no such script", "/nowhere/x.lua",
  "cuttle: cannot open /nowhere/x.lua: No such file or directory\n", 1)
local NO_FILE <const> = "cuttle: cannot open %s: No such file or directory; %s\n"
check("no such command", "nothing",
  NO_FILE:format("nothing", "cuttle --help lists the commands"), 1)
check("a command of other programs", "run x.lua",
  NO_FILE:format("run", "to run a script, write cuttle script.lua"), 1)
check("a name of the language", "trace", NO_FILE:format("trace", "trace is a name of the language: "
  .. "use it in a script, or by cuttle -e 'CODE'; cuttle help trace explains it"), 1)
check("unknown option", "--nope", "cuttle: unknown option --nope; see cuttle --help\n", 2)
check("help of two names", "help tile copy",
  "cuttle: help explains one name, got tile and copy; see cuttle help --help\n", 2)
check("-e without code", "-e", "cuttle: -e needs an argument; see cuttle --help\n", 2)
check("unknown device", "--device=gpu -e 'x = 1'", "cuttle: device: 'gpu' is unknown; auto, cpu, "
  .. "cpu:N, cuda or cuda:N was expected; see cuttle --help\n", 2)
local unknown <const> = "cuttle: CUTTLE_DEVICE: device: 'gpu' is unknown; auto, cpu, cpu:N, cuda "
  .. "or cuda:N was expected\n"
local function with_gpu(name, arguments, want, want_code)
  local out, code = shell.run("CUTTLE_DEVICE=gpu '%s' %s", arg[-1], arguments)
  tap.ok(out == want and (code or 0) == want_code, name, out)
end
with_gpu("an unknown device in the environment", "-e 'print(1)'", unknown, 1)
with_gpu("which a command tells", "check " .. fine, unknown, 1)
with_gpu("and which an option replaces", "--device=cpu -e 'print(1)'", "1\n", 0)
check("standard output that takes nothing", "-e 'print(1)' >/dev/full", "", 1)
local lost = "cuttle: cannot write to standard output\n"
for _, command in ipairs { "check", "profile", "timeline", "emit" } do
  check("standard output that takes nothing, of " .. command, command .. " " .. fine
    .. " 2>&1 >/dev/full #", lost, 1)
end
check("standard output that takes nothing, and os.exit",
  "-e 'print(1) os.exit(true, true)' 2>&1 >/dev/full #", lost, 1)
check("device in two words", "--device cpu -e 'print(1)'", "1\n", 0)
check("os.exit", "-e 'os.exit(7, true)'", "", 7)
check("emit needs a script", "emit", "cuttle: emit needs a script; see cuttle emit --help\n", 2)
check("info takes nothing", "info x",
  "cuttle: info takes no argument, got x; see cuttle info --help\n", 2)
check("emit writes the text of cuda(), not its twin", "emit --sm=80 " .. twin, ([[
extern "C" __global__ void __launch_bounds__(1)
twin(int* __restrict__ x) {  // TWIN:1
  const int number = __popc(+x[0]);  // TWIN:2
  x[0] = number;
}
]]):gsub("TWIN", twin, 2), 0)
check("--sm with a suffix", "emit --compile --sm=90b " .. twin,
  "cuttle: --sm=90b is not a compute capability; 90 and 90a stand for 9.0; see cuttle emit "
  .. "--help\n", 2)
check("--sm with a sign", "emit --compile --sm=+90a " .. twin,
  "cuttle: --sm=+90a is not a compute capability; 90 and 90a stand for 9.0; see cuttle emit "
  .. "--help\n", 2)
check("--sm that does not exist", "emit --sm=900 " .. twin,
  "cuttle: --sm: 900 is not a compute capability; 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, "
  .. "88, 89, 90, 100, 101, 103, 110, 120 or 121 was expected, 90 for 9.0; see cuttle emit "
  .. "--help\n", 2)
check("--sm with a suffix that it has not", "emit --sm=80a " .. twin,
  "cuttle: --sm: 80a is not a compute capability; 'a' is for 90 and later; see cuttle emit "
  .. "--help\n", 2)
check("inputs after -e with -i", "-i -e 'x = 42'", "42\n", 0, "x\n")

local out, code = run("--version")
tap.ok(out:find("^Cuttle %d+%.%d+%.%d+, Lua 5%.4%.%d+\n$") and code == 0, "--version", out)

out, code = run("--help")
tap.ok(out:find("^usage: cuttle") and code == 0, "--help", out)
-- Each file of a command has its row there.
for path in io.popen("ls stdlib/commands/command_*.lua"):lines() do
  local name = path:match "command_(%w+)"
  tap.ok(out:find("\n  " .. name .. " ", 1, true), "--help has " .. name, out)
end

local usage = out
out, code = run("help")
tap.ok(out == usage and code == 0, "help", out)
out, code = run("help size")
tap.ok(out:find("^size%(x") and code == 0, "help of a name", out)
check("help of what is no name", "help siz",
  "help: there is no 'siz', did you mean 'sin' or 'size'?\n", 1)

-- Every command has --help and -h, and `help COMMAND` says the same.
for _, command in ipairs { "check", "emit", "info", "bench", "profile", "timeline", "view" } do
  local long, long_code = run(command .. " --help")
  local short, short_code = run(command .. " -h")
  local named = run("help " .. command)
  local is_name = require("cuttle")[command] ~= nil
  local is_there = long:find("cuttle " .. command, 1, true) and long_code == 0
    and short == long and short_code == 0
    and (named == long or is_name and named:find("cuttle " .. command .. " --help\n", 1, true))
  tap.ok(is_there, "help of the command " .. command, long, named)
end

out, code = run("--traceback " .. failing)
tap.ok(out:find("stack traceback:", 1, true) and out:find("in %w+ 'f'") and code == 1,
  "--traceback", out)

out, code = run("--device=cpu info")
local known = out:find("\ndevice     cpu; it was asked for\n", 1, true)
  and out:find("CPU engine %w+, %d+ thread") and code == 0
tap.ok(known, "info", out)

for _, path in ipairs { script, broken, failing, twin } do
  os.remove(path)
end
tap.done()
