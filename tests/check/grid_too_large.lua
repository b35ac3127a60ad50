-- check: on=H100
-- All blocks of the grid must run at once, and the device cannot hold them.
local k = kernel("halves", function(x)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  x[i] = x[i] + 1
  sync_grid()
  x[i] = x[i] / 2
end)
k{grid = 300, block = 1024, cooperative = true}(zeros(f32, 300 * 1024)) -- finds: cooperative grid: 300 blocks of kernel 'halves', but H100 runs at most 264 at once: 2 on each of 132 multiprocessors, limited by 1024 threads a block; launch at most 264 blocks, and let each do several parts of the work in a loop whose stride is the grid, or use fewer threads a block
