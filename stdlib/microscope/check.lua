-- check.lua: what launches on the CPU engine do wrong, found while they run: `cuttle check`, and
-- require "cuttle.check" for tests and editors.
local internal = ...
local M = {}

-- Calls f(...) and returns the findings of its launches on the CPU engine, in order of launches
-- and lines, the number of launches, and whether f returned without an error, with what it returned
-- or the error. A finding is {kind =, kernel =, chunk =, line =, other_chunk =, other_line =,
-- buffer =, count =, message =, block =, thread =}; block and thread are those of the example that
-- the message tells of. options: {nan = true} also looks for NaN that comes of operands that are
-- none, and infinities of finite ones, {global = false} leaves out races in global memory,
-- {call = g} calls g in place of pcall. findings.is_partial: memory or a limit ran out, and
-- something may not have been found.
function M.run(f, options, ...)
  local watch <close> = internal.check(options)
  local results = table.pack((options and options.call or pcall)(f, ...))
  watch:stop()
  return watch:findings(), watch:launches(), table.unpack(results, 1, results.n)
end

-- "script.lua:12: race: ... (3 times)"
function M.line(finding)
  local times = finding.count > 1 and (" (%d times)"):format(finding.count) or ""
  return ("%s:%d: %s%s"):format(finding.chunk, finding.line, finding.message, times)
end

-- The report as text: a line for each finding, then a summary.
function M.report(findings, launches)
  local lines = {}
  for _, finding in ipairs(findings) do lines[#lines + 1] = M.line(finding) end
  lines[#lines + 1] = ("check: %s in %d %s"):format(
    #findings == 0 and "no finding" or #findings == 1 and "1 finding" or #findings .. " findings",
    launches, launches == 1 and "launch" or "launches")
  if launches == 0 then lines[#lines] = lines[#lines] .. ": nothing ran on the CPU engine" end
  if findings.is_partial then
    lines[#lines + 1] = "check: memory or a limit ran out, there may be more"
  end
  return table.concat(lines, "\n")
end

return M
