-- The sums in the fragment that is multiplied.
local mma = tiled_mma("SM80_16x8x8_F16F16F16F16_TN")
local k = kernel("in_place", function(out)
  local r, rB = fragment(f16, {4, 1, 1}), fragment(f16, {2, 1, 1})
  gemm(mma, r, rB, r) -- expect error: gemm: r is C and A of SM80_16x8x8_F16F16F16F16_TN; what is added to needs a fragment of its own
  out[0] = r[0]
end)
k{grid = 1, block = 32}(zeros(f16, 1))
