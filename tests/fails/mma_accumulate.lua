-- Only wgmma can start its sums from 0.
local mma = tiled_mma"SM80_16x8x16_F32F16F16F32_TN"
local k = kernel("group", function(C)
  local A, B = fragment(f16, {8, 1, 1}), fragment(f16, {4, 1, 1})
  gemm(mma, A, B, fragment(f32, {4, 1, 1}), {accumulate = false}) -- expect error: gemm: 'accumulate' is an option of atoms of wgmma, and SM80_16x8x16_F32F16F16F32_TN is none; fill C with 0 where its sums are to start
end, {static_shapes = true})
k{grid = 1, block = 32}(zeros(f32, {64, 8}))
