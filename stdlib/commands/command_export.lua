-- command_export.lua: `cuttle export [options] script.lua [arguments]`: runs the script on the CPU
-- engine and writes the kernels that it launches as C files.
--|export script.lua     run it and write the kernels that it launches as plain C files
local collect = require "cuttle.export_collect"
local export = require "cuttle.export"
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"

local USAGE <const> = "usage: cuttle export [options] script.lua [arguments]\n"
  .. "\n"
  .. "Runs the script on the CPU engine, and writes what it launches as plain C: NAME.h, NAME.c\n"
  .. "and NAME_test.c. A program compiles NAME.c with gcc or clang, and launches the kernels\n"
  .. "without Lua and without a CUDA toolkit. Each specialisation that the script launches is in\n"
  .. "the file. Calls of matmul and attention become functions for tensors of the same sizes.\n"
  .. "\n"
  .. "  --sm=LIST             the compute capabilities to compile for, such as 80,90a,100f; the\n"
  .. "                        default is 90a. Later devices run the PTX, if there is any\n"
  .. "  --name=NAME           the name of files and functions; the default is the kernel's if the\n"
  .. "                        script launches only one, else the script's\n"
  .. "  --cpu                 add the CPU twin: compiled with -DNAME_CPU, NAME.c also runs on the\n"
  .. "                        CPU engine of libcuttle_core\n"
  .. "  --no-run              skip the launches, which may take too long on the CPU engine: the\n"
  .. "                        script sees wrong results, and NAME_test.c skips its examples\n"
  .. "  -o DIR, --dir=DIR     the folder to write to, created if needed; the default is the\n"
  .. "                        current folder\n"
  .. "\n"
  .. "The exit code is the script's, or 1 if it launches nothing.\n"
  .. "docs/export.md explains the files and the function export."

local fail = script_command.failing "export"

local function run(script, options)
  local ok, what, n
  local program = collect.run(collect.targets(options.sm or "90a"), options, function()
    ok, what = run_script.call(script, table.unpack(options.rest))
  end)
  n = #program.entries
  return program, n, ok, what
end

local function deliver(program, options)
  device("cpu")
  for _, path in ipairs(export.write(program, options, options.script)) do print(path) end
end

return script_command.new {
  name = "export", usage = USAGE,
  options = {
    sm = function(o, value) o.sm = value end,
    name = function(o, value) o.name = value end,
    cpu = function(o) o.cpu = true end,
    ["no-run"] = function(o) o.run = false end,
    dir = function(o, value) o.dir = value end,
  },
  flags = { cpu = true, ["no-run"] = true }, values_follow = true, short = { o = "dir" },
  check = function(options)
    if options.script then export.make_folder(options.dir) end
  end,
  run = run, deliver = deliver,
  say_missing = function(_, options) fail("%s launched no kernel", options.script) end,
}
