-- The accumulator begins at zero.
local k = kernel("product", function(A, B, C)
  local r = fragment(f32, {2, 2})
  clear(r)
  gemm(A, B, r)
  copy(r, C)
end, {static_shapes = true})
k{grid = 1, block = 1}(rand(f32, {2, 4}), rand(f32, {2, 4}), zeros(f32, {2, 2}))
