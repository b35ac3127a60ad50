-- More blocks in y than a grid can have.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = {1, 65536}, block = 32}(2.0, x, y) -- expect error: saxpy: grid (1,65536,1); expected at most 65535 blocks in y and z, and less than 2^31 threads in x
