-- Rows are within the tensor.
local a = atom("SM75_U32x4_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {8, 1})), fragment(f16, 8)
  copy(a, s(threadIdx.x, _), r) -- expect error: out of bounds: read of s at (8,0), extent (8,8), by thread (8,0,0) of block (0,0,0)
  copy(r, tile(A, 8, threadIdx.x))
end)
k{grid = 1, block = 32}(zeros(f16, 256))
