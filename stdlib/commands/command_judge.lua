-- command_judge.lua: `cuttle judge [options] candidate.lua --reference=FILE`: judge.lua does the
-- work.
--|judge candidate.lua   compare it with a reference, check it, and predict its time
local internal = ...
local json = require "cuttle.json"
local judge = require "cuttle.judge"
local read = require "cuttle.options"
local report = require "cuttle.judge_report"
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"
local text_file = require "cuttle.text_file"
local values = require "cuttle.option_values"

local USAGE <const> = "usage: cuttle judge [options] candidate.lua --reference=reference.lua\n"
  .. "\n"
  .. "Says whether a kernel computes what a reference does, in bounds, without races and the\n"
  .. "same each time; whether a GPU could run it; and how long that would take. The candidate\n"
  .. "returns a function of the inputs and outputs; the reference, a table that describes them.\n"
  .. "The candidate runs in a sandbox on the CPU engine: it has no files, no data while its Lua\n"
  .. "runs, and not the library's operators. See docs/judge.md.\n"
  .. "\n"
  .. "  --reference=FILE      the reference, which is trusted\n"
  .. "  --json[=FILE]         write JSON instead of the text, to FILE or standard output\n"
  .. "  --seed=N              draw the cases from this number; by default, from the time\n"
  .. "  --cases=N             how many cases there are, 6 if it is not given\n"
  .. "  --schedules=N         run each launch in N other orders of blocks and warps, too; 4\n"
  .. "  --seconds=N           how long one call of the candidate may take; 10\n"
  .. "  --memory=MIB          how much memory it may use beside its tensors; 256\n"
  .. "  --on=NAME             the GPU that it must fit, and for which its time is predicted; H100\n"
  .. "  --no-compile          do not ask NVRTC for registers\n"
  .. "  --no-predict          leave out limits and the predicted time\n"
  .. "  --time=DEVICE         time it on this device, such as cuda or cpu; by default, on the GPU\n"
  .. "\n"
  .. "The exit code is 0 if it passes, 1 if it does not, and 2 if it could not be judged."

local FAILED <const> = 2

local function fail(format, ...)
  io.stderr:write(("judge: %s\n"):format(format:format(...)))
  run_script.exit(FAILED, true)
end

-- {====== Arguments ======

local function number(name, field, least)
  return function(options, value) options[field] = values.whole(fail, name, value, least) end
end

local function text(name)
  return function(options, value)
    options[name] = values.given(fail, name, value, "; see cuttle judge --help")
  end
end

local command <const> = {
  name = "judge", usage = USAGE,
  flags = { ["no-compile"] = true, ["no-predict"] = true },
  options = {
    reference = text "reference", json = values.json,
    seed = number("seed", "seed", 0), cases = number("cases", "cases", 1),
    schedules = number("schedules", "orders", 0), seconds = number("seconds", "seconds", 1),
    memory = number("memory", "mib", 1), time = text "time",
    on = function(options, value) options.device = values.device(fail, value) end,
    ["no-compile"] = function(options) options.compile = false end,
    ["no-predict"] = function(options) options.predict = false end,
  },
}

local passed_on <const> = { "seed", "cases", "orders", "seconds", "mib", "device", "time",
  "compile", "predict" }

local function judge_options(options)
  local out = { name = options.script }
  for _, name in ipairs(passed_on) do out[name] = options[name] end
  return out
end

-- {====== The run ======

local function text_of(path)
  local all, why = text_file.read(path)
  if not all then fail("cannot read %s", why) end
  return all
end

local function reference_of(path)
  local chunk, why = loadfile(path)
  if not chunk then fail("%s", why) end
  local ok, what = pcall(chunk)
  if not ok then fail("%s", tostring(what)) end
  return what
end

local function deliver(result, options)
  if options.json then
    script_command.write(fail, options.json, json.encode(result) .. "\n")
  else
    print(report.text(result))
  end
  run_script.exit(result.ok and 0 or 1, true)
end

return function(...)
  local options = read.read(command, { ... }, fail)
  if not options then return end
  if not options.script then fail("a candidate was expected; see cuttle judge --help") end
  if options.rest[1] then
    fail("a candidate takes no arguments, but there is '%s'; see cuttle judge --help",
      options.rest[1])
  end
  if not options.reference then
    fail("a reference was expected, as in --reference=reference.lua; see cuttle judge --help")
  end
  local candidate = text_of(options.script)
  options.time = options.time or device().sm and "cuda" or nil
  internal.host.choose_cpu()
  local ok, result = pcall(judge.judge, candidate, reference_of(options.reference),
    judge_options(options))
  if not ok then fail("%s", (tostring(result):gsub("^judge: ", ""))) end
  deliver(result, options)
end
