-- findings_sarif.lua: a report of `check` as SARIF 2.1.0, which hosted CI and editors read.
--   M.encode(report)   its text; a report is
--     script, findings, failed, why     as command_check.lua has them; findings are located
--     exit             the exit code
--     has_baseline     findings of it have is_known
local json = require "cuttle.json"
local language = require "cuttle"
local kinds = require "cuttle.findings"
local lists = require "cuttle.lists"
local M = {}

local SCHEMA <const> = "https://json.schemastore.org/sarif-2.1.0.json"
local FNV_BASIS <const>, FNV_PRIME <const> = 0xcbf29ce484222325, 0x100000001b3

local function text(s) return { text = s } end

-- {====== Rules ======

local function rule_of(row)
  return { id = row.id, name = row.kind, shortDescription = text(row.title),
           fullDescription = text(row.rule), help = text(row.rule .. " " .. row.remedy),
           defaultConfiguration = { level = "error" } }
end

local function rules()
  local list, index = {}, {}
  for i, row in ipairs(kinds.kinds) do list[i], index[row.id] = rule_of(row), i - 1 end
  return list, index
end

-- {====== Results ======

local function escape(c) return ("%%%02X"):format(c:byte()) end

-- A path as a URI reference.
local function uri_of(path)
  local uri = path:gsub("[^%w%-._~/]", escape)
  return uri:sub(1, 1) == "/" and "file://" .. uri or uri
end

local function place(file, line, source)
  if not file then return nil end
  return { artifactLocation = { uri = uri_of(file) },
           region = { startLine = line, snippet = source and text(source) or nil } }
end

-- The same in each run, and after lines have moved: what a baseline compares, too.
local function fingerprint(f)
  local hash = FNV_BASIS
  for c in table.concat({ f.id, f.file or f.chunk, f.source or "" }, "\0"):gmatch "." do
    hash = (hash ~ c:byte()) * FNV_PRIME
  end
  return ("%016x"):format(hash)
end

local function locations(f)
  local physical = place(f.file, f.line, f.source)
  local logical = f.kernel and { { name = f.kernel, kind = "function" } } or nil
  return { { physicalLocation = physical, logicalLocations = logical } }
end

local function related(f)
  local physical = f.other_line and place(f.other_file, f.other_line, f.other_source)
  return physical and { { id = 1, physicalLocation = physical,
                          message = text "the other line that the message names" } } or nil
end

local function properties(f)
  return { kind = f.kind, buffer = f.buffer, block = f.block, thread = f.thread, rank = f.rank }
end

local function result_of(f, index, has_baseline)
  local state = f.is_known and "unchanged" or "new"
  return { ruleId = f.id, ruleIndex = index[f.id], level = "error", message = text(f.message),
           locations = locations(f), relatedLocations = related(f),
           partialFingerprints = { ["cuttle/v1"] = fingerprint(f) },
           occurrenceCount = math.max(f.count, 1), properties = properties(f),
           baselineState = has_baseline and state or nil,
           suppressions = f.is_known and { { kind = "external" } } or nil }
end

-- {====== The whole ======

local function notifications(report)
  local list = {}
  for _, why in ipairs { report.failed and (report.why or "the script itself failed") or false,
                         report.limit or false } do
    if why then list[#list + 1] = { level = "error", message = text(why) } end
  end
  return #list > 0 and list or nil
end

function M.encode(report)
  local list, index = rules()
  local results = lists.map(report.findings, function(f)
    return result_of(f, index, report.has_baseline)
  end)
  local driver = { name = "cuttle check", version = language._VERSION:match "%d[%w.]*",
                   rules = list }
  local invocation = { executionSuccessful = not report.failed and not report.limit,
                       exitCode = report.exit,
                       toolExecutionNotifications = notifications(report) }
  return json.encode { ["$schema"] = SCHEMA, version = "2.1.0",
                       runs = { { tool = { driver = driver }, results = results,
                                  invocations = { invocation } } } } .. "\n"
end

return M
