-- integers.lua: whole numbers: the greatest common divisor, and how many bits.
local M = {}

function M.gcd(a, b)
  while b ~= 0 do a, b = b, a % b end
  return a
end

--- The exponent of the least power of two that is not below n.
function M.bits_for(n)
  local bits = 0
  while 1 << bits < n do bits = bits + 1 end
  return bits
end

return M
