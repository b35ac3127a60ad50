-- findings_junit.lua: a report of `check` as JUnit's XML, which most CI systems show. Each kind of
-- finding is a test, so that a test has the same name in each run; it fails if there is a finding
-- that is not in the baseline. Two more tests stand for the script and for the limits.
--   M.encode(report)   its text; see findings_sarif.lua for the report, and
--     skipped          [kind] = why it was not looked for
local kinds = require "cuttle.findings"
local valid_text = require "cuttle.valid_text"
local M = {}

local entities <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
                           ["\n"] = "&#10;", ["\t"] = "&#9;", ["\r"] = "&#13;" }

-- XML has no other control characters.
local function escape(c) return entities[c] or "?" end

local function xml(s) return (valid_text.of(s):gsub('[%c&<>"]', escape)) end

local function line_of(f) return ("%s:%d: %s"):format(f.file or f.chunk, f.line, f.message) end

-- The findings of each kind: new ones, known ones.
local function by_kind(findings)
  local new, known = {}, {}
  for _, f in ipairs(findings) do
    local lists = f.is_known and known or new
    lists[f.kind] = lists[f.kind] or {}
    table.insert(lists[f.kind], line_of(f))
  end
  return new, known
end

local function failure(lines, type)
  local more = #lines > 1 and (" (and %d more)"):format(#lines - 1) or ""
  return ('<failure message="%s" type="%s">%s</failure>'):format(xml(lines[1] .. more), xml(type),
    xml(table.concat(lines, "\n")))
end

local function case(script, name, inside)
  return ('    <testcase classname="%s" name="%s">%s</testcase>'):format(xml(script), xml(name),
    inside)
end

local function skipped(why) return ('<skipped message="%s"/>'):format(xml(why)) end

local function known_text(lines)
  return lines and ("<system-out>known: %s</system-out>"):format(xml(table.concat(lines, "\n")))
    or ""
end

-- The cases, and how many of them failed, are errors and were skipped.
local function cases_of(report)
  local cases, counts = {}, { failures = 0, errors = 0, skipped = 0 }
  local new, known = by_kind(report.findings)
  local function add(name, what, inside)
    cases[#cases + 1] = case(report.script, name, inside)
    if what then counts[what] = counts[what] + 1 end
  end
  for _, row in ipairs(kinds.kinds) do
    local lines, why = new[row.kind], report.skipped[row.kind]
    local name = row.id .. " " .. row.title
    if lines then
      add(name, "failures", failure(lines, row.id) .. known_text(known[row.kind]))
    elseif why then
      add(name, "skipped", skipped(why))
    else
      add(name, nil, known_text(known[row.kind]))
    end
  end
  local function add_error(name, text)
    add(name, text and "errors", text and ('<error message="%s"/>'):format(xml(text)) or "")
  end
  add_error("script", report.failed and (report.why or "the script itself failed"))
  add_error("limits", report.limit)
  return cases, counts
end

function M.encode(report)
  local cases, n = cases_of(report)
  local counts = ('tests="%d" failures="%d" errors="%d" skipped="%d"'):format(#cases, n.failures,
    n.errors, n.skipped)
  return ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites %s>\n'):format(counts)
    .. ('  <testsuite name="cuttle check %s" %s>\n'):format(xml(report.script), counts)
    .. table.concat(cases, "\n") .. "\n  </testsuite>\n</testsuites>\n"
end

return M
