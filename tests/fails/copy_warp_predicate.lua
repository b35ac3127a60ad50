local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {8, 1})), fragment(f16, 2)
  copy_if(a, function() return threadIdx.x < 8 end, s(threadIdx.x % 8, _), r) -- expect error: copy_if: all lanes of a warp do SM75_U32x1_LDSM_N together, and no element can be left out; take copy, or UniversalCopy
end)
k{grid = 1, block = 32}(zeros(f16, 256))
