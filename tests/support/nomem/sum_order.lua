-- Elements of one byte: each place that a trace forgets is a term of the sum.
local k = kernel("k", function(x, y)
  local s = 0.0
  for i in range(8) do s = s + f32(x[i]) end
  y[threadIdx.x] = s
end)
local x, y = full(f8e4m3, 8, 1), zeros(f32, 1)
local l = k:prepare{grid = 1, block = 1}(x, y)
assert(sum_order(l, {y = {0}}).n_terms == 8)
