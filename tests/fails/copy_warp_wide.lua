local a = atom("SM75_U32x2_LDSM_N", f64)
local k = kernel("k", function(A)
  local s, r = shared(f64, layout({16, 2}, {2, 1})), fragment(f64, 1)
  copy(a, s(threadIdx.x % 16, _), r) -- expect error: copy: SM75_U32x2_LDSM_N moves words of 32 bits, but an element of f64 has 64
end)
k{grid = 1, block = 32}(zeros(f16, 256))
