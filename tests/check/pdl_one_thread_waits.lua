-- One thread waits for the launches before; the others know of it behind the barrier only.
local step = kernel("step", function(x, y, z)
  if threadIdx.x == 0 then grid_dependency_wait() end
  y[threadIdx.x] = x[threadIdx.x] -- finds: pdl: read of x at 1, extent 64, by thread (1,0,0) of block (0,0,0), comes before grid_dependency_wait(), and an earlier launch of step, which writes it, may still run; call grid_dependency_wait() before line 4, in this thread or in one that a barrier orders before it
  sync_threads()
  z[threadIdx.x] = x[threadIdx.x]
end)
local x, y, z, v = ones(f32, 64), zeros(f32, 64), zeros(f32, 64), zeros(f32, 64)
step{grid = 1, block = 64, pdl = true}(x, y, z)
step{grid = 1, block = 64, pdl = true}(y, v, x)
