local A, B = rand(f16, {64, 32}), rand(f16, row_major{48, 32})
local C = matmul(A, B)
assert(allclose(C, reference.matmul(A, B)))
