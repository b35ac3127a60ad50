-- A workspace is used by launches in two streams, and no event orders them.
local fill = kernel("fill", function(x, work) work[threadIdx.x] = 2 * x[threadIdx.x] end)
local use = kernel("use", function(work, y)
  y[threadIdx.x] = work[31 - threadIdx.x] -- finds: streams: read of work at 31, extent 32, by thread (0,0,0) of block (0,0,0), and an earlier launch of fill in another stream, which writes it, are not ordered; record an event after that launch, and let the stream of this one wait for it, as in side:wait(event():record())
end)
local x, work, y = ones(f32, 32), zeros(f32, 32), zeros(f32, 32)
local side = stream()
fill{grid = 1, block = 32}(x, work)
use{grid = 1, block = 32, stream = side}(work, y)
