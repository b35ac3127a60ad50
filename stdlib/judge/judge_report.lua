-- judge_report.lua: the report of judge.lua for people.
local judge_task = require "cuttle.judge_task"
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local M = {}

local titles <const> = {
  { "correct", "correct" }, { "in_bounds", "in bounds" }, { "clean", "clean" },
  { "deterministic", "deterministic" }, { "fits", "fits" }, { "predicted", "predicted" },
  { "measured", "measured" },
}

local function sizes_text(sizes)
  return next(sizes) ~= nil and " at " .. judge_task.sizes_text(sizes) or ""
end

local says = {}

function says.correct(p) return ("%d of %d cases"):format(p.right, p.cases) end

function says.fits(p)
  return p.ok and p.device .. (p.registers_unknown and ", with registers not known" or "")
end

function says.predicted(p)
  if not p.ms then return nil end
  local limits = lists.map(p.launches, function(launch)
    return ("%s %.4f ms, limited by %s"):format(launch.kernel, launch.ms, launch.limit)
  end)
  return ("%.4f ms on %s%s: %s"):format(p.ms, p.device, sizes_text(p.sizes),
    table.concat(limits, "; "))
end

function says.measured(p)
  return p.ms and ("%.4f ms on %s%s"):format(p.ms, p.device, sizes_text(p.sizes))
end

-- Names and messages are the candidate's: they begin no line.
local function one_line(text) return (text:gsub("%c", " "):gsub("%s+$", "")) end

local function mark_of(part)
  if part.ok == nil then return "-" end
  return part.ok and "yes" or "NO"
end

local function line_of(title, name, part)
  local texts = {}
  texts[#texts + 1] = says[name] and says[name](part) or nil
  if part.message then texts[#texts + 1] = part.message end
  return one_line(("%-14s %-4s %s"):format(title, mark_of(part), table.concat(texts, "; ")))
end

--- The report as text: the verdict, then a line for each part.
function M.text(report)
  local lines = { one_line(("%s: %s%s"):format(report.task, report.verdict,
    report.message and ": " .. report.message or "")) }
  for _, row in ipairs(titles) do
    lines[#lines + 1] = line_of(row[2], row[1], report[row[1]])
  end
  lines[#lines + 1] = ("drawn from seed %d; %s %s checked"):format(report.seed,
    plural(report.launches, "launch"), report.launches == 1 and "was" or "were")
  return table.concat(lines, "\n")
end

return M
