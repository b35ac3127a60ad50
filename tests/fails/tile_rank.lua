-- A tiler with more modes than the tensor, in a kernel.
local k = kernel("wrong_rank", function(A)
  clear(tile(A, {128, 8, 4}, {blockIdx.x, 0, 0})) -- expect error: tile: tiler (128,8,4) has rank 3 but A (2048,256):(1,2048) has rank 2; give one tile size per mode
end)
k{grid = 16, block = 32}(rand(f32, {2048, 256}))
