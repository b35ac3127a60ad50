-- Choices with many arms, one kept in a local and completed twice.
local y = zeros(f32, 8)
kernel("choices", function(y)
  local a = threadIdx.x
  local h = a < 1 and 10 or a < 2 and a or a > 5 and (a < 7 and 3 or a < 8 and 4)
  y[a] = (h or 2.5) + (h or a == 3 and nil or 3.5)
end){grid = 1, block = 8}(y)
assert(y[0] == 20.0 and y[1] == 2.0 and y[2] == 6.0 and y[7] == 8.0)
