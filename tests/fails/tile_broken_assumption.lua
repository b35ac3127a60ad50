-- The first launch divides: the specialisation takes it for granted. The second one fits it in all
-- but that, and is refused at the line that assumed it.
local k = kernel("thirds", function(x)
  local t = tile(x, 3, blockIdx.x) -- expect error: tile: extent 70 of mode 0 of x is not a multiple of the tile's 3; pad the tensor or write guard(x)
  t[threadIdx.x] = 1.0
end)
k{grid = 22, block = 3}(zeros(f32, 66))
k{grid = 26, block = 3}(zeros(f32, 78))
k{grid = 24, block = 3}(zeros(f32, 70))
