-- check: nan
-- The softmax of a row that is masked as a whole: its maximum is -inf, and -inf - -inf is NaN.
local k = kernel("masked", function(x, y)
  local largest = -math.huge
  for j = 0, 3 do largest = max(largest, x[{threadIdx.x, j}]) end
  local sum = 0.0
  for j = 0, 3 do sum = sum + exp(x[{threadIdx.x, j}] - largest) end -- finds: nan: infinite operands, none of them NaN, give NaN, by thread (1,0,0) of block (0,0,0)
  y[threadIdx.x] = sum
end)
local rows = ones(f32, {32, 4})
for j = 0, 3 do rows[{1, j}] = -math.huge end
k{grid = 1, block = 32}(rows, zeros(f32, 32))
