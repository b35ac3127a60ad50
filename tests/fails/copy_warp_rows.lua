-- A row of a matrix is 16 bytes that lie together.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {1, 8})), fragment(f16, 2)
  copy(a, s(threadIdx.x % 8, _), r) -- expect error: copy: SM75_U32x1_LDSM_N takes rows of 16 bytes, 8 x f16 that lie together and are aligned, which s (8):(8) (aligned to 2 bytes) has not: neighbours in s are not neighbours in memory; take the rows that tiled_copy_A, _B or _C of a tiled MMA gives a thread, or, where columns lie side by side, an atom that ends in _T
end)
k{grid = 1, block = 32}(zeros(f16, 256))
