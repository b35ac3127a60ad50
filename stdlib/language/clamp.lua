-- clamp.lua: a value brought into a range.
local M = {}

local function is_number(x) return math.type(x) ~= nil end

-- max and min leave out a NaN, so a NaN becomes a bound.
function M.clamp(x, lo, hi)
  if is_number(lo) and is_number(hi) and lo > hi then
    error(("clamp: the bounds are %s and %s; the lower one comes first"):format(lo, hi), 2)
  end
  return max(lo, min(x, hi))
end

return M
