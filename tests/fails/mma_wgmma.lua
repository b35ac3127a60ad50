-- What wgmma reads from shared memory is a tile in a canonical layout.
local mma = tiled_mma"SM90_64x8x16_F32F16F16_SS"
local k = kernel("group", function(C)
  local thr = mma:get_slice(threadIdx.x)
  local A, B = shared(f16, "(64,16):(17,1)"), shared(f16, gmma_layout(f16, "K", 32))
  local c = thr:partition_fragment_C(tile(C, {64, 8}, {0, 0}))
  gemm(mma, thr:partition_A(A), thr:partition_B(B), c) -- expect error: gemm: A ((64,16),1,1):((17,1),0,0) is nothing that SM90_64x8x16_F32F16F16_SS reads as A: its rows are in none of the canonical layouts; make the tensor by tile_to_shape(gmma_layout(dtype, "K" or "MN", 128), shape)
end)
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
