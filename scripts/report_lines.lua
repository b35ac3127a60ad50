-- report_lines.lua: what `cuttle check --json` reports of every script of tests/check and every
-- case of tests/fails, for validate_reports.py: a line "NAME<tab>check<tab>JSON" for each. Fails if
-- an error has no id.
--   build/tests/support/states scripts/report_lines.lua
-- Scripts run in states of this process, and the ids are added here: a state would read the table
-- of ids for each script anew.
local run_in_state <const> = rawget(_G, "run_in_state") -- of tests/support/states.c
local SECONDS <const> = 900

-- json.lua and script_error.lua, and what they require, without the library.
table.insert(package.searchers, 2, function(name)
  local file = name:match "^cuttle%.([%w_]+)$"
  local pipe <close> = assert(io.popen(("ls stdlib/*/%s.lua"):format(file or "none")))
  local path = pipe:read "l"
  return path and assert(loadfile(path)) or "no file " .. name
end)
local cases = dofile(arg[0]:match "^.*/" .. "cases.lua")
local json = require "cuttle.json"
local script_error = require "cuttle.script_error"

local read <const> = dofile(arg[0]:match "^.*/" .. "shell.lua").read_file

local pages <const> = { read = function(uri)
  return { text = read((uri:gsub("^cuttle://", ""))) }
end }

-- {====== One script ======

-- Does what command_check.lua does between its options and its report.
local RUN <const> = [[
local path, options = %q, { %s }
local say, check, run_script = print, require "cuttle.check", require "cuttle.run_script"
local report, kinds = require "cuttle.check_report", require "cuttle.findings"
local script = run_script.load(path, {}, true)
if not script then return end -- it has no report
options.call = run_script.call
local findings, launches, ok, what = check.run(script, options)
kinds.locate(findings, path)
local code, text = run_script.outcome(ok, what)
say(require("cuttle.json").encode_line(report.plain { findings = findings, launches = launches,
  failed = code ~= 0, why = text }))
]]

-- The options that scripts of tests/check ask for, as those of check.run; a gate is none of them.
local asked <const> = {
  nan = "nan = true", overflow = "overflow = true", schedules = "orders = 100",
  ["schedules=all"] = "orders = -1", ["on=H100"] = "device = 'H100'", ["gate=degree<=2"] = "",
}

local function options_of(text)
  local option = text:match "%-%- check: (%l%S*)\n"
  return option and assert(asked[option], option) or ""
end

-- Errors without an id, by the name of their case.
local without <const> = {
  error_in_kernel = "the script raises it",
  field_without_a_value_beside_another_error = "the script raises it",
}
local n_reports, faults = 0, {}

local function check_id(name, fault)
  if (fault.id ~= nil) == (without[name:match "[^ ]+$"] ~= nil) then
    faults[#faults + 1] = ("%s: %s: %s"):format(name, fault.id or "no id", fault.message)
  end
end

local function print_report(name, path)
  local out, err, code = run_in_state(RUN:format(path, options_of(read(path))), "report", SECONDS)
  assert(code == 0, ("%s: %s"):format(name, err))
  if out == "" then return end
  local report = assert(json.decode(out))
  if report.error then
    script_error.add_id(report.error, pages)
    check_id(name, report.error)
  end
  print(("%s\tcheck\t%s"):format(name, json.encode_line(report)))
  n_reports = n_reports + 1
end

local function print_text(name, text)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:flush()
  print_report(name, path)
  os.remove(path)
end

-- {====== All ======

local function each(pattern, f)
  local pipe <close> = assert(io.popen("ls " .. pattern))
  for path in pipe:lines() do f(path) end
end

each("tests/check/*.lua tests/check/right/*.lua", function(path) print_report(path, path) end)
each("tests/fails/*.cases", function(path)
  for _, case in ipairs(cases.read(path)) do
    print_text(("%s:%d: %s"):format(path, case.line, case.name), case.text)
  end
end)
assert(n_reports > 1000, "most scripts have no report")
assert(#faults == 0, table.concat(faults, "\n"))
