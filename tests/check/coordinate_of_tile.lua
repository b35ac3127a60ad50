-- One tile too many along mode 0: it is the first tile of the next column of tiles.
local k = kernel("tiles", function(x, y)
  local part = tile(x, {8, 4}, {blockIdx.x, 0})
  y[{threadIdx.x, blockIdx.x}] = part[{threadIdx.x, 0}] -- finds: coordinate: 4 in mode 0 of the tiles of x, extent 4, by thread (0,0,0) of block (4,0,0); another element is accessed instead: stop at the extent, or guard the tensor
end)
k{grid = 5, block = 8}(rand(f32, {32, 8}), zeros(f32, {8, 5}))
