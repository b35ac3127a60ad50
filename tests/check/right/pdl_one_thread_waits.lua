-- One thread waits for the launches before; a barrier tells the others before they read.
local step = kernel("step", function(x, y, z)
  if threadIdx.x == 0 then grid_dependency_wait() end
  sync_threads()
  y[threadIdx.x] = x[threadIdx.x]
  z[threadIdx.x] = x[threadIdx.x]
end)
local x, y, z, v = ones(f32, 64), zeros(f32, 64), zeros(f32, 64), zeros(f32, 64)
step{grid = 1, block = 64, pdl = true}(x, y, z)
step{grid = 1, block = 64, pdl = true}(y, v, x)
