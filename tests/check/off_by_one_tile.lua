-- The last block takes a tile that is not there.
local k = kernel("scale", function(x, y)
  copy(tile(x, 16, blockIdx.x + 1), tile(y, 16, blockIdx.x)) -- finds: out of bounds: read of x at 64, extent 64, by thread (0,0,0) of block (3,0,0)
end)
k{grid = 4, block = 1}(rand(f32, 64), zeros(f32, 64))
