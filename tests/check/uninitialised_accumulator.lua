-- Nobody cleared the accumulator.
local k = kernel("product", function(A, B, C)
  local r = fragment(f32, {2, 2})
  gemm(A, B, r) -- finds: uninitialised: read of r at (0,0), extent (2,2), by thread (0,0,0) of block (0,0,0): the thread has not written it; clear or fill the fragment first
  copy(r, C)
end, {static_shapes = true})
k{grid = 1, block = 1}(rand(f32, {2, 4}), rand(f32, {2, 4}), zeros(f32, {2, 2}))
