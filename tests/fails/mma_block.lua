-- A block that is no whole number of warps.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("block", function(out)
  local rA, rB, rC = fragment(f16, {8, 1}), fragment(f16, {4, 1}), fragment(f32, {4, 1, 1})
  gemm(mma, rA, rB, rC) -- expect error: gemm: SM80_16x8x16_F32F16F16F32_TN is an instruction of a whole warp, but a block of 48 threads has one with 16; launch a multiple of 32 threads
  out[0] = rC[0]
end)
k{grid = 1, block = 48}(zeros(f32, 1))
