-- A coordinate with more entries than there are modes of tiles.
local k = kernel("coordinate", function(A)
  clear(tile(A, {16, 8}, {blockIdx.x, 0, 0})) -- expect error: tile: coordinate (?,0,0) has rank 3 but there are 2 modes of tiles, (4,2); give at most one entry per mode
end)
k{grid = 1, block = 32}(zeros(f32, {64, 16}))
