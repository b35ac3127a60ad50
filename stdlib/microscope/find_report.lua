-- find_report.lua: how find_swizzle and find_layout print what they found.
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local M = {}

function M.number(n)
  return n == math.floor(n) and ("%d"):format(n) or ("%.1f"):format(n)
end

-- "2688 (8-way)", of {wavefronts, conflicts}.
function M.conflicts(cost)
  if cost.conflicts == 0 then return "0" end
  local ways = cost.wavefronts / (cost.wavefronts - cost.conflicts)
  return ("%d (%s-way)"):format(math.floor(cost.conflicts + 0.5), M.number(ways))
end

-- The first line: what was searched, and how much of it.
function M.title(what, found)
  local n = #found.candidates
  local tried = ("%s: %s tried"):format(what, plural(n, "layout"))
  if not found.stopped then return tried end
  return tried .. (" of %d, then stopped: the best so far"):format(found.n_wanted)
end

-- Rows of texts as columns; column `left` begins where its heading does, the others end there.
function M.table(rows, left)
  local is_right = {}
  for i = 1, #rows[1] do is_right[i] = i ~= left end
  return table.concat(lists.columns(rows, is_right), "\n")
end

return M
