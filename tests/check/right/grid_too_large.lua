-- check: on=H100
-- A grid that the device holds; each block does several parts of the work.
local k = kernel("halves", function(x, n)
  local first = blockIdx.x * blockDim.x + threadIdx.x
  for i in range(first, n, gridDim.x * blockDim.x) do x[i] = x[i] + 1 end
  sync_grid()
  for i in range(first, n, gridDim.x * blockDim.x) do x[i] = x[i] / 2 end
end)
k{grid = 132, block = 1024, cooperative = true}(zeros(f32, 300 * 1024), 300 * 1024)
