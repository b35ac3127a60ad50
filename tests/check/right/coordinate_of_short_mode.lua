-- As many threads as the mode has coordinates.
local k = kernel("column", function(x, y)
  y[threadIdx.x] = x[{threadIdx.x, 1}]
end)
k{grid = 1, block = 32}(rand(f32, {32, 4}), zeros(f32, 32))
