-- And aligned: a padded row must be a multiple of 16 bytes.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local sA, r = shared(f16, layout({8, 8}, {9, 1})), fragment(f16, 2)
  copy(a, sA(threadIdx.x % 8, _), r) -- expect error: copy: SM75_U32x1_LDSM_N takes rows of 16 bytes, 8 x f16 that lie together and are aligned, which sA (8):(1) (aligned to 2 bytes) has not: sA does not begin at a multiple of that; make strides and offsets multiples
end)
k{grid = 1, block = 32}(zeros(f16, 256))
