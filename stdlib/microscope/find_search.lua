-- find_search.lua: how find_swizzle and find_layout go through their candidates.
local internal = ...
local M = {}

--- Calls value(candidate) for each of the list `wanted`, with a bar, until somebody stops it.
--- Returns those that were valued, ranked by comes_before, and whether some were not. A candidate's
--- `keys`, by which it is ranked, are gone then.
function M.rank(op, wanted, value, comes_before)
  local done, stopped = {}, false
  local progress <close> = internal.host.search(op, #wanted)
  for i, candidate in ipairs(wanted) do
    value(candidate)
    done[i] = candidate
    if not progress:step() then
      stopped = i < #wanted
      break
    end
  end
  table.sort(done, comes_before)
  for _, candidate in ipairs(done) do candidate.keys = nil end
  return done, stopped
end

return M
