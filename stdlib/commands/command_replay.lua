-- command_replay.lua: `cuttle replay [options] FILE`: runs a captured launch again, or hands it to
-- the command that reports on it.
--|replay FILE           run a captured launch again (--check, --profile, --trace=y[5])
local replay = require "cuttle.replay"
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"

local USAGE <const> = "usage: cuttle replay [options] FILE\n"
  .. "\n"
  .. "Runs the launch that `capture` or CUTTLE_CAPTURE wrote to FILE: on the current device, or\n"
  .. "on the CPU engine. It needs neither the script nor the device of the original.\n"
  .. "\n"
  .. "  --check               report what the launch does wrong, like cuttle check;\n"
  .. "                        --check=nan and --check=overflow also report NaN and overflow\n"
  .. "  --profile             show what each line costs on a GPU, like cuttle profile\n"
  .. "  --timeline            show which warps work and which wait, like cuttle timeline\n"
  .. "  --trace=y[5,7]        show where this element comes from, like trace\n"
  .. "  --info                show what the file contains, and run nothing\n"
  .. "  --trust               pass the file's options and CUDA C to the compiler, and use as much\n"
  .. "                        memory as the file needs\n"
  .. "\n"
  .. "cuttle check, profile and timeline accept such a file instead of a script.\n"
  .. "The exit code is 0 if the launch ends without an error and nothing is found."

local fail = script_command.failing "replay"

-- {====== Arguments ======

local function plain(name)
  return function(o, value)
    if value and value ~= "" then fail("--%s takes no value", name) end
    o.mode = name
  end
end

local options_of = {
  check = function(o, value)
    if value ~= "" and value ~= "nan" and value ~= "overflow" then
      fail("--check=%s; --check, --check=nan or --check=overflow was expected", value)
    end
    o.mode, o.also = "check", value ~= "" and "--" .. value or nil
  end,
  trust = function(o, value)
    if value ~= "" then fail "--trust takes no value" end
    o.trust = true
  end,
  profile = plain "profile", timeline = plain "timeline", info = plain "info", help = plain "help",
  trace = function(o, value)
    local name, coordinate = value:match "^([%a_][%w_]*)%[([%d,]+)%]$"
    if not name then fail("--trace=%s; write --trace=y[5,7], an element of an argument", value) end
    o.mode, o.element = "trace", { [name] = {} }
    for n in coordinate:gmatch "%d+" do table.insert(o.element[name], math.tointeger(n)) end
  end,
}

local function read_arguments(...)
  local options = { mode = "run" }
  for _, arg in ipairs { ... } do
    local name, value = arg:match "^%-%-([%a-]+)=?(.*)$"
    if not name then
      if options.file then fail("one file was expected, not %s too", arg) end
      options.file = arg
    else
      local take = options_of[name] or fail("unknown option %s; see cuttle replay --help", arg)
      take(options, value)
    end
  end
  if not options.file and options.mode ~= "help" then
    fail "a file was expected; see cuttle replay --help"
  end
  return options
end

-- {====== Modes ======

local function name_of_device()
  local device = device()
  return device.sm and device.name or "the CPU engine"
end

local function dims(t) return "(" .. table.concat(t, ",") .. ")" end

local function describe(path, info)
  return ("%s: kernel %s, %s:%d, grid %s, block %s, captured on %s, with%s data"):format(path,
    info.kernel, info.chunk, info.line, dims(info.grid), dims(info.block), info.device,
    info.has_data and "" or "out")
end

local modes = {}

function modes.run(options)
  local launch, _, info = replay.replay(options.file)
  print(info.launches and ("%s: %s"):format(options.file, replay.describe(options.file).graph)
    or describe(options.file, info))
  if info.left_out ~= "" then print("replay: " .. info.left_out) end
  launch()
  synchronize()
  print("replay: it ended on " .. name_of_device())
end

function modes.info(options)
  local info = replay.describe(options.file)
  if info.graph then
    print(("%s: %s"):format(options.file, info.graph))
    return
  end
  print(describe(options.file, info))
  for i, what in ipairs(info.arguments) do print(("%4d  %s"):format(i, what)) end
  for _, option in ipairs(info.options) do print("option of NVRTC: " .. option) end
end

function modes.trace(options)
  device "cpu"
  print(trace((replay.replay(options.file)), options.element))
end

local function command(name, ...)
  local run = require("cuttle.command_" .. name)
  return run(...)
end

function modes.check(options)
  if options.also then return command("check", options.also, options.file) end
  return command("check", options.file)
end

function modes.profile(options) return command("profile", options.file) end
function modes.timeline(options) return command("timeline", options.file) end
function modes.help() print(USAGE) end

return function(...)
  local options = read_arguments(...)
  if options.trust then replay.trust(options.file) end
  local ok, what = run_script.call(modes[options.mode], options)
  run_script.leave(run_script.outcome(ok, what))
end
