-- A swizzle of other bits than the hardware permutes.
local mma = tiled_mma"SM90_64x8x16_F32F16F16_SS"
local k = kernel("group", function(C)
  local thr = mma:get_slice(threadIdx.x)
  local A = shared(f16, composition(swizzle(2, 3, 2), layout("(64,32):(32,1)")))
  local B = shared(f16, gmma_layout(f16, "K", 32))
  gemm(mma, thr:partition_A(A)(_, _, 0), thr:partition_B(B)(_, _, 0), thr:partition_fragment_C(C)) -- expect error: gemm: A Sw<2,3,2> o 0 o ((64,16),1):((32,1),0) is nothing that SM90_64x8x16_F32F16F16_SS reads as A: of elements of 16 bits it knows the swizzles Sw<1,3,3>, Sw<2,3,3>, Sw<3,3,3> and none; gmma_layout has them
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
