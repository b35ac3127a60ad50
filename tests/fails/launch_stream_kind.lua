-- Something else for a stream.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = 32, stream = 1}(2.0, x, y) -- expect error: a stream was expected, got a number
