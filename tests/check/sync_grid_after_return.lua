-- Half of each block returns before the barrier of the grid.
local k = kernel("k", function(x)
  if threadIdx.x >= 32 then return end
  sync_grid() -- finds: sync_grid: 32 threads of the block have ended without reaching it, the first: thread (32,0,0) of block (0,0,0); all must reach it: return after the last sync_grid
  if threadIdx.x == 0 then x[blockIdx.x] = 1 end
end)
k{grid = 4, block = 64, cooperative = true}(zeros(i32, 4))
