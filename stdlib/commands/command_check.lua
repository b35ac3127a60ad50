-- command_check.lua: `cuttle check [options] script.lua [arguments]`: runs the script on the CPU
-- engine and reports what its launches do wrong. Exit code 0: nothing; 1: something; 2: nothing,
-- but the script failed.
--|check script.lua      run it on the CPU engine and report what its kernels do wrong
local internal = ...
local check = require "cuttle.check"
local devices = require "cuttle.profile_device"
local json = require "cuttle.json"
local read = require "cuttle.options"
local run_script = require "cuttle.run_script"

local USAGE <const> = "usage: cuttle check [options] script.lua [arguments]\n"
  .. "\n"
  .. "Runs the script on the CPU engine, whatever the device, and reports what its kernels do\n"
  .. "wrong. Memory: accesses out of bounds, coordinates outside their mode, misaligned vectors,\n"
  .. "offsets that do not fit in 32 bits, and reads of uninitialised shared memory and\n"
  .. "registers. Order: races within a block and between blocks, asynchronous copies used before\n"
  .. "their wait, barriers that not all threads reach, and deadlocks. A `bench` in the script\n"
  .. "runs its function only once.\n"
  .. "\n"
  .. "  --nan                 also report NaN from operands that are not NaN (0/0, inf - inf),\n"
  .. "                        and infinities from finite operands\n"
  .. "  --overflow            also report signed-integer arithmetic whose result does not fit\n"
  .. "  --no-global           do not look for races in global memory, which saves time\n"
  .. "  --on=NAME             also report cooperative grids that this device, such as H100,\n"
  .. "                        cannot hold; NVRTC finds how many registers a kernel needs\n"
  .. "  --json                print JSON; the script's own output goes to standard error\n"
  .. "\n"
  .. "The exit code is 0 without findings, 1 with findings, and 2 if only the script itself failed."

local FINDINGS <const>, FAILED <const> = 1, 2

local function fail(format, ...)
  io.stderr:write(("check: %s\n"):format(format:format(...)))
  run_script.exit(FAILED, true)
end

local function setting(field, value)
  return function(options) options[field] = value end
end

local command <const> = {
  name = "check", flags = { nan = true, overflow = true, ["no-global"] = true, json = true },
  options = {
    nan = setting("nan", true), overflow = setting("overflow", true),
    ["no-global"] = setting("global", false), json = setting("json", true),
    on = function(options, value)
      if value == "" then fail("--on needs a value, as in --on=H100; see cuttle check --help") end
      options.device = value
    end,
  },
}

local function exit_code(findings, script_code)
  local signal_code = run_script.signal_code()
  if signal_code then return signal_code end
  return #findings > 0 and FINDINGS or script_code ~= 0 and FAILED or 0
end

-- {findings =, launches =, failed =, code =, exit =}: `code` is that of the script's own os.exit.
local function run(options, args)
  local script, message = run_script.load(options.script, args, options.json)
  if not script then fail("%s", message) end
  local findings, launches, ok, what = check.run(script,
    { nan = options.nan, overflow = options.overflow, global = options.global,
      device = options.device, call = run_script.call }, table.unpack(args))
  local code, text = run_script.outcome(ok, what)
  run_script.say(text)
  return { findings = findings, launches = launches, failed = code ~= 0,
           code = not text and code or nil, exit = exit_code(findings, code) }
end

local function print_json(result)
  local findings = result.findings
  result.code, result.exit = nil, nil
  result.is_partial, result.registers_unknown = findings.is_partial, findings.registers_unknown
  findings.is_partial, findings.registers_unknown = nil, nil
  io.stdout:write(json.encode(result), "\n")
end

local function print_text(result)
  print(check.report(result.findings, result.launches))
  if result.failed then
    local code = result.code and (", with exit code %d"):format(result.code) or ""
    print("check: the script itself failed" .. code)
  end
end

return function(...)
  local options = read.read(command, { ... }, fail)
  if options.help then
    print(USAGE)
    return
  end
  if not options.script then
    fail("a script was expected; see cuttle check --help")
  end
  if options.device and not devices.find(options.device) then
    fail("--on=%s is not a known device; expected one of %s", options.device, devices.names())
  end
  internal.host.choose_cpu()
  local result = run(options, options.rest)
  local code, deliver = result.exit, options.json and print_json or print_text
  deliver(result)
  run_script.exit(code, true)
end
