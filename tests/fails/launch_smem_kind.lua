-- An option of the wrong kind.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = 32, smem = "48K"}(2.0, x, y) -- expect error: saxpy: smem is a text; an integer from 0 to 1048576 was expected
