local x, y = zeros(f32, 64), zeros(f32, {8, 8})
local k = kernel("k", function(x, y, n)
  x[threadIdx.x] = y[{threadIdx.x % 8, 0}] + n
  local r = fragment(f32, 4)
  fill(r, 1)
  if threadIdx.x == 0 then x[0] = r[3] end
end)
for i = 1, 3 do k{grid = 1, block = 32}(x, y, i) end
assert(x[0] == 1.0 and x[31] == 3.0 and x[32] == 0.0)
