-- script_command.lua: what `cuttle profile`, `cuttle timeline` and `cuttle bench` share: they run a
-- script and report on it; options.lua reads their arguments. M.new makes the command of a table:
--   name             as in `cuttle NAME`; its messages begin with it
--   usage            the text of --help
--   options          [NAME] = function(options, value): takes --NAME=value
--   on_device        the script runs on its own device, else on the CPU engine; or a function that
--                    says so of the options
--   flags            the set of options that take no value; nil: none is checked
--   values_follow    an option's value may be the next argument, and none goes without, but flags;
--                    or the set of options of which that is so
--   short            [LETTER] = NAME: -LETTER VALUE stands for --NAME=VALUE; or nil
--   check            function(options): raises where they do not go together; or nil
--   run              function(script, options): what there is to report, of how many launches or
--                    kernels, and what run_script.call returned
--   deliver          function(report, options): the exit code if the script ended well; nil: 0
--   say_missing      function(report, options): says why there is nothing, if the script was fine
-- The functions find the script's path in options.script and its arguments in options.rest. With
-- options.is_aside what the script prints leaves standard output to the report.
local internal = ...
local read = require "cuttle.options"
local run_script = require "cuttle.run_script"
local M = {}

-- The function that raises the messages of a command.
function M.failing(name)
  return function(format, ...) error(("%s: %s"):format(name, format:format(...)), 0) end
end

-- Writes a report to a file, whose name is then printed, or, where `path` is true, to standard
-- output.
function M.write(fail, path, text)
  if path == true then
    io.stdout:write(text)
    return
  end
  local ok, why = write_file(path, text)
  if not ok then fail("cannot write %s", why) end
  io.stdout:write(path, "\n")
end

function M.new(command)
  local fail = M.failing(command.name)
  return function(...)
    local options = read.read(command, { ... }, fail)
    if not options then return end
    if command.check then command.check(options) end
    if not options.script then
      fail("a script was expected; see cuttle %s --help", command.name)
    end
    local on_device = command.on_device
    if type(on_device) == "function" then on_device = on_device(options) end
    if not on_device then internal.host.choose_cpu() end
    local chunk, why = run_script.load(options.script, options.rest, options.is_aside)
    if not chunk then fail("%s", why) end
    local report, n, ok, what = command.run(chunk, options)
    local code, text = run_script.outcome(ok, what)
    if n > 0 then
      local own_code = command.deliver(report, options)
      code = code == 0 and own_code or code
    elseif code == 0 then
      command.say_missing(report, options)
    end
    run_script.leave(code, text)
  end
end

return M
