-- coverage.lua: which integers of a range a list takes, misses or takes more than once; the lists
-- hold ranges, so a gap of any length costs as much as a short one.
local lists = require "cuttle.lists"
local M = {}

local Ranges = {}
Ranges.__index = Ranges

-- Integers come in ascending order.
function Ranges:add(first, last)
  local before = self[#self]
  self.n = self.n + last - first + 1
  if before and before.last == first - 1 then
    before.last = last
  else
    self[#self + 1] = { first = first, last = last }
  end
end

function Ranges:texts()
  return lists.map(self, function(range) return M.range_text(range.first, range.last) end)
end

local function ranges_new()
  return setmetatable({ n = 0 }, Ranges)
end

function M.range_text(first, last)
  return first == last and tostring(first) or ("%d..%d"):format(first, last)
end

-- integer -> how often it is in the list; the smallest and the largest.
function M.count(list)
  local seen, low, high = {}, math.huge, -math.huge
  for _, v in ipairs(list) do
    seen[v] = (seen[v] or 0) + 1
    low, high = math.min(low, v), math.max(high, v)
  end
  return seen, low, high
end

-- The integers low..high that are missed, and those that `seen`, all of whose keys are among them,
-- has more than once. Each is { n = how many, { first =, last = }, ... }.
function M.gaps(seen, low, high)
  local missed, doubled, expected = ranges_new(), ranges_new(), low
  for _, v in ipairs(lists.keys(seen)) do
    if v > expected then missed:add(expected, v - 1) end
    if seen[v] > 1 then doubled:add(v, v) end
    expected = v + 1
  end
  if expected <= high then missed:add(expected, high) end
  return missed, doubled
end

return M
