-- A coordinate outside a host tensor.
local C = zeros(f32, {4, 8})
C[{3, 7}] = 1
C[{5, 9}] = 1 -- expect error: C[{5,9}]: coordinate (5,9) is outside the shape (4,8)
