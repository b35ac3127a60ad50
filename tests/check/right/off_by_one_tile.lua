-- Each block takes a tile that is there.
local k = kernel("scale", function(x, y)
  copy(tile(x, 16, blockIdx.x), tile(y, 16, blockIdx.x))
end)
k{grid = 4, block = 1}(rand(f32, 64), zeros(f32, 64))
