-- An atom that copies.
local k = kernel("copies", function(out)
  local r = fragment(f16, {8, 2, 2})
  gemm(atom("SM75_U32x4_LDSM_N", f16), r, r, r) -- expect error: gemm: SM75_U32x4_LDSM_N is an atom of copies; an atom of products was expected
  out[0] = r[0]
end)
k{grid = 1, block = 32}(zeros(f16, 1))
