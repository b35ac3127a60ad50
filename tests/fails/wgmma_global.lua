-- wgmma reads shared memory only.
local mma = tiled_mma"SM90_64x8x16_F32F16F16_SS"
local k = kernel("group", function(C)
  local thr = mma:get_slice(threadIdx.x)
  local B = shared(f16, gmma_layout(f16, "K", 32))
  local A = cast(fragment(f32, {64, 16}), f16)
  gemm(mma, thr:partition_A(A), thr:partition_B(B), thr:partition_fragment_C(C)) -- expect error: gemm: A ((64,16),1,1):((1,64),0,0) is nothing that SM90_64x8x16_F32F16F16_SS reads as A: it is not in shared memory; copy it to a tensor of shared, as by tma_load
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
