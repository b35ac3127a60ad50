-- A block without threads.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = 0}(2.0, x, y) -- expect error: saxpy: block (0,1,1) has 0 threads; expected 1 to 1024, at most 64 in z
