-- A block given by a layout in place of its size.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = layout{8, 4}}(2.0, x, y) -- expect error: saxpy: a size of block is a layout; an integer from 0 to 2^31 - 1 was expected
