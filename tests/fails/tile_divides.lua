-- A tile that does not divide an extent.
local A = zeros(f32, {100, 8})
print(tile(A, {25, 8}, {3, 0})[0]) -- expect: 0.0
print(tile(A, {32, 8}, {0, 0}))    -- expect error: tile: extent 100 of mode 0 of A is not a multiple of the tile's 32; pad the tensor
