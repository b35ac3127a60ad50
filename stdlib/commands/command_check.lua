-- command_check.lua: `cuttle check [options] script.lua [arguments]`: runs the script on the CPU
-- engine and reports what its launches do wrong. check_report.lua writes the report.
--|check script.lua      run it on the CPU engine and report what its kernels do wrong
local internal = ...
local check = require "cuttle.check"
local deliver = require "cuttle.check_report"
local devices = require "cuttle.profile_device"
local kinds = require "cuttle.findings"
local read = require "cuttle.options"
local run_script = require "cuttle.run_script"
local values = require "cuttle.option_values"
local schedules = require "cuttle.schedule"

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
  .. "  --schedules[=N|all]   also run each launch in N other orders of its blocks and warps, 100\n"
  .. "                        if no N is given; orders that no warp can tell apart count as one\n"
  .. "  --preemptions=N       only orders in which at most N warps are interrupted\n"
  .. "  --random=SEED         draw the orders at random, with this seed\n"
  .. "  --schedule=FILE       run only the order in this file, besides the launch's own\n"
  .. "  --save-schedule=FILE  write the order of the first finding that has one\n"
  .. "  --timeline=FILE       draw that order, as FILE.svg or FILE.html: who waits for whom\n"
  .. "  --needless            also report which barriers, waits, fences and memory orders could\n"
  .. "                        go: run each launch again without each of them\n"
  .. "  --gate=LIMITS         run the script once more and report kernels whose figures are\n"
  .. "                        beyond limits, as in --gate=\"conflicts<=2, spills=0\"\n"
  .. "  --baseline=FILE       do not report findings that FILE lists\n"
  .. "  --write-baseline=OUT  list all findings in OUT\n"
  .. "  --json[=FILE]         write JSON, to FILE or, instead of the text, to standard output;\n"
  .. "                        then the script's own output goes to standard error\n"
  .. "  --sarif=FILE          also write SARIF 2.1.0, which hosted CI and editors read\n"
  .. "  --junit=FILE          also write JUnit's XML, with a test for each kind of finding\n"
  .. "  --seconds=N           stop the script after N seconds\n"
  .. "  --explain[=ID]        run nothing; list the kinds of findings, or explain one\n"
  .. "\n"
  .. "The exit code is 0 without findings, 1 with findings, 2 if only the script itself failed,\n"
  .. "and 3 if nothing was found, but time or memory ran out."

local MAX_SECONDS <const> = 1 << 30

local function fail(format, ...)
  io.stderr:write(("check: %s\n"):format(format:format(...)))
  run_script.exit(deliver.FAILED, true)
end

local function gates() return require "cuttle.gates" end -- loaded only if there are some

-- {====== Arguments ======

local function setting(field, value)
  return function(options) options[field] = value end
end

local function file_of(name, field)
  return function(options, value)
    if value == "" then fail("--%s needs the name of a file, as in --%s=FILE", name, name) end
    options[field or name] = value
  end
end

local function seconds(options, value)
  local n = math.tointeger(tonumber(value))
  if not n or n < 1 or n > MAX_SECONDS then
    fail("--seconds=%s is not a number of seconds from 1 to %d", value, MAX_SECONDS)
  end
  options.seconds = n
end

-- {====== Orders ======

local DEFAULT_ORDERS <const> = 100

local function count_of(option, least, field)
  return function(options, value) options[field] = values.whole(fail, option, value, least) end
end

local function orders(options, value)
  options.orders = value == "all" and -1 or value == "" and DEFAULT_ORDERS
    or values.whole(fail, "schedules", value, 1)
end

local function read_schedule(options, path)
  local schedule, why = schedules.load(path)
  if not schedule then fail("--schedule: %s", why) end
  options.schedule = schedule
end

local function drawing(options, value)
  local kind = value:match "%.(%w+)$"
  if kind ~= "svg" and kind ~= "html" then
    fail("--timeline=%s: expected a file that ends in .svg or .html", value)
  end
  options.timeline = value
end

local function first_with_schedule(findings)
  for _, finding in ipairs(findings) do
    if finding.schedule then return finding end
  end
end

-- Writes the first schedule among the findings, and draws it; or why not.
local function save_schedule(findings, options)
  local finding = (options.save or options.timeline) and first_with_schedule(findings)
  if not finding then return end
  local ok, why = true, nil
  if options.save then ok, why = write_file(options.save, finding.schedule) end
  if options.timeline and ok then
    ok, why = pcall(check.draw, finding, options.timeline)
  end
  return not ok and why or nil
end

local command <const> = {
  name = "check", usage = USAGE,
  flags = { nan = true, overflow = true, needless = true, ["no-global"] = true },
  values_follow = { gate = true },
  options = {
    nan = setting("nan", true), overflow = setting("overflow", true),
    needless = setting("needless", true), ["no-global"] = setting("global", false),
    json = values.json,
    schedules = orders, schedule = read_schedule,
    preemptions = count_of("preemptions", 0, "preemptions"), random = count_of("random", 1, "seed"),
    ["save-schedule"] = file_of("save-schedule", "save"), timeline = drawing,
    sarif = file_of "sarif", junit = file_of "junit", baseline = file_of "baseline",
    ["write-baseline"] = file_of("write-baseline", "write_baseline"), seconds = seconds,
    gate = function(options, value)
      options.gates = options.gates or {}
      gates().parse(value, fail, options.gates)
    end,
    explain = function(options, value) options.explain = value end,
    on = function(options, value)
      values.given(fail, "on", value, ", as in --on=H100; see cuttle check --help")
      options.device = values.device(fail, value)
    end,
  },
}

local function explain(id)
  local text = id == "" and kinds.list() or kinds.explain(id)
  if not text then
    fail("--explain=%s: no kind of finding has this id; cuttle check --explain lists them%s", id,
      kinds.hint(id))
  end
  print(text)
end

-- {====== The run ======

-- The findings of the gates, from a second run of the script, and why that failed.
local function judge(options)
  local device = options.device and devices.find(options.device)
  local counted, ok, what = run_script.again(options.script, options.rest, function(script)
    local profiled = { device = options.device, sm = device and device.sm, call = run_script.call }
    return require("cuttle.profile").run(script, profiled, table.unpack(options.rest))
  end)
  if not counted then return {}, ok end
  local code, text = run_script.outcome(ok, what)
  local why = code ~= 0 and "the script failed when it ran again, for the gates" or nil
  return gates().judge(options.gates, counted), why and text and why .. ": " .. text or why
end

local function limit_of(findings, options, text)
  if run_script.is_late() then
    return ("stopped after %d s (--seconds): there may be more"):format(options.seconds)
  end
  if findings.is_partial or text and text:find("not enough memory", 1, true) then
    return "memory or a limit ran out, there may be more"
  end
end

-- {findings =, launches =, failed =, why =, code =, limit =}: `code` is that of the script's own
-- os.exit; `why` the text of its error; `limit` what ended the search early.
local function run(options)
  local script, message = run_script.load(options.script, options.rest, options.json == true)
  if not script then fail("%s", message) end
  internal.host.limit_script(options.seconds or 0)
  local findings, launches, ok, what = check.run(script,
    { nan = options.nan, overflow = options.overflow, global = options.global,
      device = options.device, needless = options.needless,
      orders = options.orders, preemptions = options.preemptions,
      seed = options.seed, schedule = options.schedule, call = run_script.call },
    table.unpack(options.rest))
  local unsaved = save_schedule(findings, options)
  local code, text = run_script.outcome(ok, what)
  run_script.say(text)
  local limit = limit_of(findings, options, text)
  local result = { findings = findings, launches = launches, limit = limit,
                   failed = code ~= 0 and not limit, why = text, code = not text and code or nil,
                   unsaved = unsaved }
  if options.gates and code == 0 then
    local found, why = judge(options)
    table.move(found, 1, #found, #findings + 1, findings)
    result.failed, result.why = why ~= nil, why
    run_script.say(why)
  end
  return result
end

local outputs <const> = { "json", "sarif", "junit", "write_baseline", "save", "timeline" }

-- Options that do not go together.
local function check_options(options)
  if options.orders == -1 and options.seed then
    fail("--random draws a number of orders; write --schedules=N --random=%d", options.seed)
  end
  local taken = {}
  for _, name in ipairs(outputs) do
    local path = options[name]
    if type(path) == "string" and taken[path] then
      fail("two reports go to %s; give each a file of its own", path)
    end
    if type(path) == "string" then taken[path] = true end
  end
end

return function(...)
  local options = read.read(command, { ... }, fail)
  if not options then return end
  if options.explain then return explain(options.explain) end
  if not options.script then
    fail("a script was expected; see cuttle check --help")
  end
  if options.gates and options.script == "-" then
    fail("--gate runs the script twice, so the script must be a file, not standard input")
  end
  check_options(options)
  internal.host.choose_cpu()
  local ok, code = pcall(function() return deliver.deliver(run(options), options, fail) end)
  if not ok then fail("%s", tostring(code)) end
  run_script.exit(code, true)
end
