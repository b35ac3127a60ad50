-- A tile that does not divide a static extent.
local k = kernel("ragged", function(A)
  local s = shared(f32, {64, 20})
  copy(tile(s, {64, 8}, {0, 0}), A) -- expect error: tile: extent 20 of mode 1 of s is not a multiple of the tile's 8; pad the tensor or write guard(s)
end)
k{grid = 1, block = 32}(zeros(f32, {64, 8}))
