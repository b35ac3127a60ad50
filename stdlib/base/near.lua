-- near.lua: the names nearest to one that does not exist: "did you mean 'composition'?".
local M = {}

-- How many single changes turn a into b; two letters that changed places are one. More than `most`
-- are not counted.
local function distance(a, b, most)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local next_row, least = { [0] = i }, i
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j) and 0 or 1
      next_row[j] = math.min(row[j] + 1, next_row[j - 1] + 1, row[j - 1] + same)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        next_row[j] = math.min(next_row[j], before[j - 2] + 1)
      end
      least = math.min(least, next_row[j])
    end
    if least > most then return math.huge end
    before, row = row, next_row
  end
  return row[#b]
end

local CASE <const> = 0.5 -- of letters of the other case, however many: less than a change

local function difference(a, b, most)
  local n = distance(a:lower(), b:lower(), most)
  return n <= most and distance(a, b, n) > n and n + CASE or n
end

-- Those of the list that are nearest to name, at most three, as "'a' or 'b'"; or nothing. Three
-- letters in eight may be wrong, at most three.
function M.nearest(name, list)
  local found, least = {}, math.max(1, math.min(3, #name * 3 // 8)) + CASE
  for _, other in ipairs(list) do
    local n = math.abs(#name - #other) <= least and difference(name, other, least) or math.huge
    if n < least then found, least = {}, n end
    if n == least then found[#found + 1] = "'" .. other .. "'" end
  end
  table.sort(found)
  return #found > 0 and #found < 4 and table.concat(found, " or ") or nil
end

return M
