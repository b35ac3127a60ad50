-- Two different K.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("k", function(out)
  local rA, rB, rC = fragment(f16, {8, 2, 2}), fragment(f16, {4, 2, 3}), fragment(f32, {4, 2, 2})
  gemm(mma, rA, rB, rC) -- expect error: gemm: rA (8,2,2):(1,8,16) and rB (4,2,3):(1,4,8) differ in K, mode 2 of both
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(f32, 1))
