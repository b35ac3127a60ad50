-- A launch without a block.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2}(2.0, x, y) -- expect error: saxpy: the launch has no block; write saxpy{grid = ..., block = ...}(...)
