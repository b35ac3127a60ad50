-- Coordinates are compared entry by entry, in kernels too.
local k = kernel("k", function(A)
  if elem_less({threadIdx.x, 1}, {4, {2, 2}}) then A[0] = 1 end -- expect error: elem_less: an integer against a tuple; expected coordinates of the same nesting
end)
k{grid = 1, block = 2}(zeros(f32, 4))
