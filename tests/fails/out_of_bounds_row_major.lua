-- The coordinate counts in the tensor's own layout.
local k = kernel("rows", function(C)
  C[{threadIdx.x, 3}] = 1.0 -- expect error: out of bounds: write of C at (20,3), extent (20,4), by thread (20,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(zeros(f32, row_major{20, 4}))
