-- More dynamic shared memory than there is.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, block = 32, smem = 300000}(2.0, x, y) -- expect error: saxpy: smem = 300000 beside the kernel's 0 bytes of shared tensors, but a block on the CPU engine has 232448; ask for less
