-- command_profile.lua: `cuttle profile [options] script.lua [arguments]`: runs the script on the
-- CPU engine and prints, for each kernel that it launched, what every line of it does.
--|profile script.lua    run it and show what each line of its kernels costs on a GPU
local check = require "cuttle.check"
local profile = require "cuttle.profile"
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"
local values = require "cuttle.option_values"

local USAGE <const> = "usage: cuttle profile [options] script.lua [arguments]\n"
  .. "\n"
  .. "Runs the script on the CPU engine and counts what each specialisation costs on a GPU, line\n"
  .. "by line: requests, sectors, bank conflicts, divergence, arithmetic, and vector widths, and\n"
  .. "why these are not wider. Occupancy and a roofline follow. A `bench` in the script\n"
  .. "runs its function only once. docs/debugging.md explains the figures.\n"
  .. "\n"
  .. "  --sm=N                capability times 10, for registers and occupancy; default: 90\n"
  .. "  --on=NAME             the device of the roofline, such as H100; default: one with that sm\n"
  .. "  --sass                also show the instructions of each kernel's hot loop, line by line,\n"
  .. "                        and the cycles that the assembler plans for them; needs NVRTC\n"
  .. "  --json[=FILE]         write JSON instead of the table, to FILE or standard output\n"
  .. "  --html=FILE           write a page, with the source next to the figures\n"
  .. "  --gate=LIMITS         also report kernels whose figures are beyond limits, as in\n"
  .. "                        --gate=\"conflicts<=2, registers<=128, spills=0\"\n"
  .. "\n"
  .. "The exit code is the script's, or 1 if it launches nothing on the CPU engine, or if a gate\n"
  .. "is not kept."

local fail = script_command.failing "profile"

local function gates() return require "cuttle.gates" end

-- {====== Arguments ======

local options_of = {
  sm = function(o, value)
    o.sm = math.tointeger(tonumber(value))
    if not o.sm then fail("--sm=%s is not a compute capability; 90 stands for 9.0", value) end
  end,
  on = function(o, value) o.device = value end,
  sass = function(o, value)
    if value ~= "" then fail("--sass takes no value, got '%s'", value) end
    o.sass = true
  end,
  json = values.json_aside,
  gate = function(o, value)
    o.gates = o.gates or {}
    gates().parse(value, fail, o.gates)
  end,
  html = function(o, value)
    if value == "" then fail("--html needs the name of a file, as in --html=profile.html") end
    o.html = value
  end,
}

-- {====== Results ======

-- The findings of the gates, as check reports them.
local function judged(result, options)
  local findings = gates().judge(options.gates, result)
  require("cuttle.findings").locate(findings, options.script)
  return require("cuttle.check_report").plain_findings(findings)
end

-- The lines of the gates; 1 if one was not kept.
local function print_gates(result, options)
  local out = options.json == true and io.stderr or io.stdout
  for _, finding in ipairs(result.gates) do out:write(check.line(finding), "\n") end
  out:write(gates().summary(options.gates, result.gates, result), "\n")
  return #result.gates > 0 and 1 or nil
end

local function deliver(result, options)
  if options.gates then result.gates = judged(result, options) end
  if options.html then result:html(options.html) end
  if options.json then script_command.write(fail, options.json, result:json() .. "\n") end
  if not options.json and not options.html then io.stdout:write(tostring(result), "\n") end
  local names = options.json == true and io.stderr or io.stdout
  if options.html then names:write(options.html, "\n") end
  if options.gates then return print_gates(result, options) end
end

local function run(script, options)
  local result, ok, what = profile.run(script,
    { sm = options.sm, device = options.device, sass = options.sass, call = run_script.call },
    table.unpack(options.rest))
  return result, #result.kernels, ok, what
end

return script_command.new {
  name = "profile", usage = USAGE, options = options_of, run = run, deliver = deliver,
  values_follow = { gate = true },
  say_missing = function(_, options)
    fail("%s launched no kernel on the CPU engine", options.script)
  end,
}
