-- The name in the message is that of the local, the extent that of the slice.
local k = kernel("slices", function(A)
  local gA = tile(A, {64, 8}, {blockIdx.x, _})
  local part = tile(gA, {64, 8, 5}, {0, 0, 0}) -- expect error: tile: extent 32 of mode 2 of gA is not a multiple of the tile's 5; pad the tensor or write guard(gA)
  clear(part)
end)
k{grid = 1, block = 32}(zeros(f32, {64, 256}))
