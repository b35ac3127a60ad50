-- The last block has no work and leaves out the barrier of the grid.
local k = kernel("phases", function(x, n)
  local b = blockIdx.x
  if b < n then
    x[b * 32 + threadIdx.x] = 1
    sync_grid() -- finds: sync_grid: block (0,0,0) waits for 1 of 8 blocks that never come: block (7,0,0) has ended; all blocks of the grid must reach it
    x[(b + 1) % n * 32 + threadIdx.x] = 2
  end
end)
k{grid = 8, block = 32, cooperative = true}(zeros(f32, 256), 7)
