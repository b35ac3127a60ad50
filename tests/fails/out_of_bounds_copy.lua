-- A copy of a whole tile names the first element that is outside.
local k = kernel("copies", function(x, y)
  copy(tile(x, 16, blockIdx.x), tile(y, 16, blockIdx.x)) -- expect error: out of bounds: read of x at 64, extent 64, by thread (0,0,0) of block (4,0,0)
end)
k{grid = 5, block = 1}(zeros(f32, 64), zeros(f32, 80))
