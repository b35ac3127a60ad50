local k = kernel("k", function(x, y)
  local s = 0.0
  for i in range(8) do s = s + x[i] end
  y[threadIdx.x] = s
end)
local x, y = full(f32, 8, 1), zeros(f32, 4)
local l = k:prepare{grid = 1, block = 4}(x, y)
assert(sum_order(l, {y = {0}}).n_terms == 8)
