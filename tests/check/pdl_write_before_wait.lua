-- A dependent launch clears what earlier ones read and write, before it waits for them.
local add = kernel("add", function(x, sum)
  sum[threadIdx.x] = sum[threadIdx.x] + x[threadIdx.x]
end)
local restart = kernel("restart", function(x, sum)
  x[threadIdx.x] = 0 -- finds: pdl: write of x at 0, extent 32, by thread (0,0,0) of block (0,0,0), comes before grid_dependency_wait(), and an earlier launch of add, which reads it, may still run; call grid_dependency_wait() before line 6, in this thread or in one that a barrier orders before it
  sum[threadIdx.x] = 0 -- finds: pdl: write of sum at 0, extent 32, by thread (0,0,0) of block (0,0,0), comes before grid_dependency_wait(), and an earlier launch of add, which writes it, may still run; call grid_dependency_wait() before line 7, in this thread or in one that a barrier orders before it
  grid_dependency_wait()
  x[threadIdx.x] = 1
end)
local x, sum = ones(f32, 32), zeros(f32, 32)
add{grid = 1, block = 32}(x, sum)
restart{grid = 1, block = 32, pdl = true}(x, sum)
