-- sort_network.lua: a fragment sorted by a thread, by a network of comparisons that is unrolled:
-- all indices are static, so the elements stay in registers. The network is Batcher's odd-even
-- mergesort, of which comparisons that would reach beyond n elements are left out.
local tiles = require "cuttle.tiles"
local M = {}

local MAX_ELEMENTS <const> = 64 -- a longer one has more than 543 comparisons

-- The pairs {i, j}, i < j, in their order.
local function pairs_of(n)
  local list, p = {}, 1
  while p < n do
    local k = p
    while k >= 1 do
      for j = k % p, n - 1 - k, 2 * k do
        for i = 0, math.min(k, n - j - k) - 1 do
          if (i + j) // (2 * p) == (i + j + k) // (2 * p) then
            list[#list + 1] = { i + j, i + j + k }
          end
        end
      end
      k = k // 2
    end
    p = p * 2
  end
  return list
end

local function check(t, order)
  if tiles.type_name(t) ~= "tensor" then
    tiles.fail("sort_network", "argument 1 is a %s; a fragment was expected", tiles.type_name(t))
  elseif t.dtype == nil or t.dtype == bool then
    tiles.fail("sort_network", "argument 1 has %s; a fragment of numbers was expected",
      t.dtype and "bools" or "coordinates")
  end
  local n = size(t)
  if math.type(n) ~= "integer" or n > MAX_ELEMENTS then
    tiles.fail("sort_network", "the tensor has %s elements; a static number of at most %d was "
      .. "expected", tostring(n), MAX_ELEMENTS)
  end
  if order ~= nil and order ~= "up" and order ~= "down" then
    tiles.fail("sort_network", "the order is %s; \"up\" or \"down\" was expected", tostring(order))
  end
  return n
end

-- Puts the elements in order, "up" (the default) or "down".
function M.sort_network(t, order)
  for _, pair in ipairs(pairs_of(check(t, order))) do
    local a, b = t[pair[1]], t[pair[2]]
    local swaps = a > b
    if order == "down" then swaps = a < b end
    t[pair[1]], t[pair[2]] = where(swaps, b, a), where(swaps, a, b)
  end
  return t
end

return M
