-- A grid of four sizes.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = {1, 1, 1, 2}, block = 32}(2.0, x, y) -- expect error: saxpy: grid has 4 sizes; 1 to 3 were expected, as in grid = {x, y}
