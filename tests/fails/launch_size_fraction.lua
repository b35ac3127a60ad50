-- A grid that a division left with a fraction.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = size(x) / 24, block = 24}(2.0, x, y) -- expect error: saxpy: a size of grid is 2.6666666666667; an integer from 0 to 2^31 - 1 was expected
