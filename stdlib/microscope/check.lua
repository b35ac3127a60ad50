-- check.lua: what launches on the CPU engine do wrong, found while they run: `cuttle check`, and
-- require "cuttle.check" for tests and editors.
local internal = ...
local grids = require "cuttle.check_grid"
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local schedules = require "cuttle.schedule"
local M = {}

-- The options, with the schedule of a file read.
local function with_schedule(options)
  if type(options.schedule) ~= "string" then return options end
  local schedule, why = schedules.load(options.schedule)
  if not schedule then error("check: schedule: " .. why, 3) end
  return setmetatable({ schedule = schedule }, { __index = options })
end

local function by_line(places)
  table.sort(places, lists.by("chunk", "line", "what"))
  return places
end

-- Calls f(...) and returns the findings of its launches on the CPU engine, in order of launches
-- and lines, the number of launches, and whether f returned without an error, with what it returned
-- or the error. A finding is {kind =, id =, kernel =, chunk =, line =, other_chunk =, other_line =,
-- buffer =, count =, message =, block =, thread =}; block and thread are those of the example that
-- the message tells of. options: {nan = true} also looks for NaN that comes of operands that are
-- none, and infinities of finite ones, {overflow = true} also looks for results of signed integers
-- that do not fit in their type, {global = false} leaves out races in global memory,
-- {call = g} calls g in place of pcall, {device = "H100"} also finds cooperative grids that this
-- device cannot hold: they come last, and are of no block. findings.is_partial: memory or a limit
-- ran out, and something may not have been found. findings.registers_unknown: why the registers of
-- a kernel are not known, which may let fewer blocks fit. {orders = n} also runs each launch in n
-- other orders of its blocks and warps, -1 for all; with {preemptions = n} only those in which n
-- warps are interrupted, with {seed = n} orders drawn at random. {schedule = file} runs one order,
-- that of a file or of a table from cuttle.schedule. A finding of another order has its text as
-- `schedule`, and as `events` what M.draw shows.
-- findings.explored: what was explored of each launch. {needless = true} also runs each launch
-- without one of its barriers, fences and orders at a time; findings.needless: those that no launch
-- needed, as {{chunk =, line =, what =, has_atomics =, launches =}, tried =, launches =}.
-- {mutants = true} leaves out or weakens all that orders something, also in launches of ranks, to
-- test the check; findings.mutants: all of them, with `is_needed`, and as `text` what was found;
-- {mutants = "each"} does that to each operation of a line by itself; {without = mutant} runs all
-- launches so.
function M.run(f, options, ...)
  options = with_schedule(options or {})
  local device = options.device and grids.device(options.device)
  local launches = device and grids.watch()
  local watch <close> = internal.watch.check(options, launches and launches.take,
    device and device.sm)
  local results = table.pack((options.call or pcall)(f, ...))
  watch:stop()
  local findings = watch:findings()
  findings.explored = (options.orders or 0) ~= 0 and watch:explored() or nil
  findings.needless = options.needless and by_line(watch:needless()) or nil
  findings.mutants = options.mutants and by_line(watch:needless(true)) or nil
  if launches then grids.add(findings, launches, device) end
  return findings, watch:launches(), table.unpack(results, 1, results.n)
end

-- "script.lua:12: race: ... (3 times)"
function M.line(finding)
  local times = finding.count > 1 and (" (%d times)"):format(finding.count) or ""
  return ("%s:%d: %s%s"):format(finding.chunk, finding.line, finding.message, times)
end

local function counted(n, one, several)
  return ("%d %s"):format(n, n == 1 and one or several)
end

-- Adds what could go, and how far that was tried.
local function add_needless(found, lines)
  for _, place in ipairs(found) do
    lines[#lines + 1] = ("%s:%d: %s is needless in %s: without it, nothing new is found, and "
      .. "the results are the same%s"):format(place.chunk, place.line, place.what,
      counted(place.launches, "launch", "launches"), place.has_atomics
      and "; see for yourself whether one atomic operation needs it to see another" or "")
  end
  local text = "check: --needless: "
  if found.launches == 0 or found.tried == 0 then
    lines[#lines + 1] = text .. (found.launches == 0
      and "no launch was judged: each has findings, may run beside others, or was stopped"
      or "no barrier, wait, fence or order ran")
    return
  end
  text = ("%seach of %s was left out by itself, in %s"):format(text,
    counted(found.tried, "barrier, wait, fence or order", "barriers, waits, fences and orders"),
    counted(found.launches, "judged launch", "judged launches"))
  lines[#lines + 1] = text .. (#found > 0 and "; other sizes or data may need what these do not, "
    .. "and without one of them another may be needed" or ": all are needed")
end

-- Draws the order in which a finding was made, as FILE.svg or FILE.html: who waits for whom.
function M.draw(finding, file) return require("cuttle.schedule_page").draw(finding, file) end

-- The report as text: a line for each finding, then a summary.
function M.report(findings, launches)
  local lines = {}
  for _, finding in ipairs(findings) do
    lines[#lines + 1] = M.line(finding)
    if finding.schedule then lines[#lines + 1] = schedules.told(finding.schedule) end
  end
  for _, explored in ipairs(findings.explored or {}) do
    lines[#lines + 1] = "check: " .. schedules.summary(explored)
  end
  if findings.needless and launches > 0 then add_needless(findings.needless, lines) end
  lines[#lines + 1] = ("check: %s in %s"):format(
    #findings == 0 and "no finding" or plural(#findings, "finding"), plural(launches, "launch"))
  if launches == 0 then lines[#lines] = lines[#lines] .. ": nothing ran on the CPU engine" end
  if findings.is_partial then
    lines[#lines + 1] = "check: memory or a limit ran out, there may be more"
  end
  if findings.registers_unknown then
    lines[#lines + 1] = "check: registers are not known, so fewer blocks of a cooperative grid may "
      .. "fit: " .. findings.registers_unknown
  end
  return table.concat(lines, "\n")
end

return M
