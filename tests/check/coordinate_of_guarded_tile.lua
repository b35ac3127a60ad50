-- Tiles of a guarded tensor begin at 0: the one before the first row of tiles is in another column.
local k = kernel("halo", function(x, y)
  local part = tile(guard(x), {8, 4}, {blockIdx.x - 1, 1})
  y[{threadIdx.x, blockIdx.x}] = part[{threadIdx.x, 0}] -- finds: coordinate: -1 in mode 0 of the tiles of x, extent 4, by thread (0,0,0) of block (0,0,0); another element is accessed instead: stop at the extent, or guard the tensor
end)
k{grid = 4, block = 8}(rand(f32, {30, 8}), zeros(f32, {8, 4}))
