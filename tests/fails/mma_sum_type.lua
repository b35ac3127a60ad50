-- Sums in another type than the atom's.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("sums", function(out)
  local rA, rB, rC = fragment(f16, {8, 2}), fragment(f16, {4, 2}), fragment(f64, {4, 2, 2})
  gemm(mma, rA, rB, rC) -- expect error: gemm: C (rC) is f64 but SM80_16x8x16_F32F16F16F32_TN adds to f32
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(f64, 1))
