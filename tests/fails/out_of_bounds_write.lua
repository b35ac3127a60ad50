-- A write behind the end: tensor, coordinate, extents, thread and block.
local k = kernel("behind", function(C)
  C[{threadIdx.x, blockIdx.y}] = 1.0 -- expect error: out of bounds: write of C at (0,4), extent (32,4), by thread (0,0,0) of block (0,4,0)
end)
k{grid = {1, 5}, block = 32}(zeros(f32, {32, 4}))
