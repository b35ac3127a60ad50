-- Fragments in which the mode of values is not the atom's.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("values", function(out)
  local rA, rB, rC = fragment(f16, {4, 2, 2}), fragment(f16, {4, 2, 2}), fragment(f32, {4, 2, 2})
  gemm(mma, rA, rB, rC) -- expect error: gemm: rA (4,2,2):(1,4,8) has 4 values in its mode 0; SM80_16x8x16_F32F16F16F32_TN takes 8 as A of each thread: partition with a tiled MMA of that atom
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(f32, 1))
