-- A fragment whose values of one register are not side by side.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("apart", function(out)
  local rA = fragment(f16, layout({8, 2, 1}, {2, 1, 0}))
  local rB, rC = fragment(f16, {4, 1, 1}), fragment(f32, {4, 2, 1})
  gemm(mma, rA, rB, rC) -- expect error: gemm: rA (8,2,1):(2,1,0) does not have the values of a register side by side, 2 of them, from a multiple of 2 on; partition_fragment_A of a tiled MMA makes a fragment that has
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(f32, 1))
