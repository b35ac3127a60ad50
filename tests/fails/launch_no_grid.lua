-- A launch without a grid.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{block = 32}(2.0, x, y) -- expect error: saxpy: the launch has no grid; write saxpy{grid = ..., block = ...}(...)
