-- A launch with an argument too few.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x = zeros(f32, 64)
saxpy{grid = 2, block = 32}(2.0, x) -- expect error: saxpy: the kernel takes 3 arguments (a, x, y), got 2
