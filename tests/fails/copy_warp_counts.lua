-- Eight elements of the source are two of the destination.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {8, 1})), fragment(f16, 8)
  copy(a, s(threadIdx.x % 8, _), r) -- expect error: copy: s (8):(1) and r 8:1 are of different numbers of SM75_U32x1_LDSM_N, which takes 8 elements of the first and gives 2 of the second
end)
k{grid = 1, block = 32}(zeros(f16, 256))
