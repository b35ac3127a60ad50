-- check_report.lua: what `cuttle check` writes and prints of a run, and its exit code.
--   M.deliver(result, options, fail)   the exit code; see run() of command_check.lua for the result
--   M.plain_findings(findings)   findings as tables for JSON, once kinds.locate has located them
--   M.plain(result)   the report as tables for JSON; its error has no id yet
local baseline = require "cuttle.findings_baseline"
local check = require "cuttle.check"
local json = require "cuttle.json"
local kinds = require "cuttle.findings"
local plural = require "cuttle.plural"
local run_script = require "cuttle.run_script"
local script_error = require "cuttle.script_error"
local text_file = require "cuttle.text_file"
local valid_text = require "cuttle.valid_text"
local M = { FINDINGS = 1, FAILED = 2, LIMIT = 3 }

-- {====== The baseline ======

-- Marks the known findings; how many of the file's were not found.
local function mark(result, options, fail)
  local path = options.baseline
  local text, why = text_file.read(path)
  if not text then
    fail("--baseline: cannot read %s; cuttle check --write-baseline=%s writes it", why, path)
  end
  result.has_baseline = true
  local script = kinds.relative(options.script)
  return baseline.mark(result.findings, script, text, function(line, what)
    fail("%s:%d: %s is no finding; expected an id, a script and the text of its line, with tabs "
      .. "between", path, line, valid_text.quoted(what))
  end)
end

-- The findings that are not known.
local function new_ones(findings)
  local new = { registers_unknown = findings.registers_unknown, explored = findings.explored,
                needless = findings.needless }
  for _, f in ipairs(findings) do
    if not f.is_known then new[#new + 1] = f end
  end
  return new
end

-- {====== The exit code ======

local function exit_code(result, n_new)
  local signal_code = run_script.signal_code()
  if signal_code and not result.limit then return signal_code end
  return n_new > 0 and M.FINDINGS or result.limit and M.LIMIT or result.failed and M.FAILED or 0
end

-- {====== Writers ======

-- What was not looked for, and why.
local function skipped(options)
  local left_out = options.global == false and "left out by --no-global" or nil
  return { nan = not options.nan and "only with --nan" or nil,
           overflow = not options.overflow and "only with --overflow" or nil,
           order = not options.orders and left_out or nil,
           cooperative_grid = not options.device and "only with --on" or nil,
           gate = not options.gates and "only with --gate" or nil,
           race_global = left_out, race_streams = left_out, dependent_launch = left_out }
end

-- What JSON says of `needless`: no array has fields.
local function plain_needless(found)
  return found and { places = table.move(found, 1, #found, 1, {}), tried = found.tried,
                     launches = found.launches }
end

local function text_of(path)
  local file <close> = path and io.open(path, "rb")
  return file and file:read "a" or nil
end

-- The findings, without what only a drawing needs, with what their kind says.
function M.plain_findings(findings)
  local list, source_of = {}, {}
  for i, finding in ipairs(findings) do
    local plain, row, path = {}, kinds.of[finding.kind], finding.file
    for name, value in pairs(finding) do
      if name ~= "events" then plain[name] = value end
    end
    if path and source_of[path] == nil then source_of[path] = text_of(path) or false end
    plain.rule, plain.remedy = row.rule, row.remedy
    plain.edit = path and script_error.finding_edit(finding, source_of[path] or nil)
    list[i] = plain
  end
  return list
end

-- The script's error, if it failed by one.
local function plain_error(result)
  if not (result.failed and result.why) then return nil end
  local file = result.why:match "^([^\n:]+):%d+: "
  return script_error.of(result.why, text_of(file))
end

function M.plain(result)
  local findings = result.findings
  return { findings = M.plain_findings(findings), launches = result.launches,
           error = plain_error(result), failed = result.failed, limit = result.limit,
           is_partial = findings.is_partial,
           registers_unknown = findings.registers_unknown, explored = findings.explored,
           needless = plain_needless(findings.needless) }
end

local function encoded(result)
  local report = M.plain(result)
  if report.error then
    script_error.add_id(report.error, require("cuttle.mcp_pages").open())
  end
  return json.encode(report) .. "\n"
end

-- The modules that seldom are wanted are loaded only then.
local writers <const> = {
  { "sarif", function(report) return require("cuttle.findings_sarif").encode(report) end },
  { "junit", function(report) return require("cuttle.findings_junit").encode(report) end },
  { "json", function(_, result) return encoded(result) end },
  { "write_baseline", function(report) return baseline.encode(report.findings) end },
}

-- Writes all that it can; why one could not be written.
local function write_files(result, options, code)
  local report = { script = options.script, findings = result.findings, failed = result.failed,
                   why = result.why, limit = result.limit, exit = code, skipped = skipped(options),
                   has_baseline = result.has_baseline }
  local failed
  for _, writer in ipairs(writers) do
    local path = options[writer[1]]
    if type(path) == "string" then
      local ok, why = write_file(path, writer[2](report, result))
      failed = failed or not ok and why
    end
  end
  return failed
end

-- {====== The text ======

local function print_text(result, new, n_stale)
  print(check.report(new, result.launches))
  local n_known = #result.findings - #new
  if n_known > 0 then print(("check: %s of the baseline left out"):format(plural(n_known,
    "finding"))) end
  if n_stale > 0 then
    print(("check: %s of the baseline did not come again; write it anew"):format(plural(n_stale,
      "finding")))
  end
  if result.limit then print("check: " .. result.limit) end
  if result.failed then
    local code = result.code and (", with exit code %d"):format(result.code) or ""
    print("check: the script itself failed" .. code)
  end
end

function M.deliver(result, options, fail)
  kinds.locate(result.findings, options.script)
  kinds.locate(result.findings.needless or {}, options.script)
  local n_stale = options.baseline and mark(result, options, fail) or 0
  local new = new_ones(result.findings)
  local code = exit_code(result, #new)
  if options.json == true then
    io.stdout:write(encoded(result))
  else
    print_text(result, new, n_stale)
  end
  local why = write_files(result, options, code) or result.unsaved
  if not why then return code end
  run_script.say("check: cannot write " .. why)
  return code == 0 and M.FAILED or code
end

return M
