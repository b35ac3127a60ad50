-- A launch with an argument too many.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = 32}(2.0, x, y, 64) -- expect error: saxpy: the kernel takes 3 arguments (a, x, y), got 4
