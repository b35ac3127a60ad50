-- More threads than a block can have.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = {64, 32}}(2.0, x, y) -- expect error: saxpy: block (64,32,1) has 2048 threads; expected 1 to 1024, at most 64 in z
