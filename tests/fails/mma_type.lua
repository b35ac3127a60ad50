-- bf16 asked for, f16 given.
local mma = tiled_mma("SM80_16x8x16_F32BF16BF16F32_TN")
local k = kernel("types", function(out)
  local rA, rB, rC = fragment(f16, {8, 2, 2}), fragment(f16, {4, 2, 2}), fragment(f32, {4, 2, 2})
  gemm(mma, rA, rB, rC) -- expect error: gemm: A (rA) is f16 but SM80_16x8x16_F32BF16BF16F32_TN multiplies bf16
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(f32, 1))
