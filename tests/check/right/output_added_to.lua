-- The sums are added to zeros.
local n = 64
local k = kernel("add_to", function(x, y)
  local i = threadIdx.x
  y[i] = y[i] + x[i]
end)
k{grid = 1, block = n}(rand(f32, n), zeros(f32, n))
