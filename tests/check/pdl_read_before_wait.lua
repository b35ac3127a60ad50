-- A dependent launch begins while those before it may still run: each thread prefetches an element of what the
-- first one writes. Elements that nothing has written, and a table of the host's, may be read.
local produce = kernel("produce", function(x, y)
  y[threadIdx.x] = x[threadIdx.x] + 1
end)
local consume = kernel("consume", function(y, table_, z)
  local i = blockIdx.x * 32 + threadIdx.x
  local early = y[i] * table_[threadIdx.x] -- finds: pdl: read of y at 0, extent 64, by thread (0,0,0) of block (0,0,0), comes before grid_dependency_wait(), and an earlier launch of produce, which writes it, may still run; call grid_dependency_wait() before line 8, in this thread or in one that a barrier orders before it
  grid_dependency_wait()
  z[i] = early
end)
local x, y, z = ones(f32, 32), zeros(f32, 64), zeros(f32, 64)
local table_ = ones(f32, 32)
produce{grid = 1, block = 32}(x, y)
consume{grid = 2, block = 32, pdl = true}(y, table_, z)
