-- A tile that does not divide a run-time extent: the launch's values are shown.
local k = kernel("ragged", function(A)
  local g = tile(A, {64, 8}, {blockIdx.x, 0}) -- expect error: tile: extent 100 of mode 0 of A is not a multiple of the tile's 64; pad the tensor or write guard(A)
  clear(g)
end)
k{grid = 2, block = 32}(zeros(f32, {100, 8}))
