-- A barrier of the grid is missing at the end of a step: a block goes on and writes what its neighbour still
-- reads.
local k = kernel("shift", function(x, y, n)
  local i = blockIdx.x * 32 + threadIdx.x
  for _ in range(n) do
    y[i] = x[(i + 32) % size(x)] -- finds: race: read of x at 0, extent 256, by thread (0,0,0) of block (7,0,0), and write by thread (0,0,0) of block (0,0,0) at line 8 are not ordered; put sync_grid() between them, or use atomic operations or a flag with fence()
    sync_grid()
    x[i] = y[i] + 1.0 -- finds: race: write of x at 32, extent 256, by thread (0,0,0) of block (1,0,0), and read by thread (0,0,0) of block (0,0,0) at line 6 are not ordered; put sync_grid() between them, or use atomic operations or a flag with fence()
  end
end)
k{grid = 8, block = 32, cooperative = true}(arange(f32, 256), arange(f32, 256), 3)
