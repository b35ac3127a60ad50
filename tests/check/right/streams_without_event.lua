-- The second stream waits for an event that is recorded after the first launch.
local fill = kernel("fill", function(x, work) work[threadIdx.x] = 2 * x[threadIdx.x] end)
local use = kernel("use", function(work, y)
  y[threadIdx.x] = work[31 - threadIdx.x]
end)
local x, work, y = ones(f32, 32), zeros(f32, 32), zeros(f32, 32)
local side = stream()
fill{grid = 1, block = 32}(x, work)
side:wait(event():record())
use{grid = 1, block = 32, stream = side}(work, y)
