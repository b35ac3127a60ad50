-- Only 16-bit types are read along M or N.
local mma = tiled_mma"SM90_64x8x32_F32E4M3E4M3_SS_TN"
local k = kernel("group", function(C)
  local thr = mma:get_slice(threadIdx.x)
  local A = shared(f8e4m3, tile_to_shape(gmma_layout(f8e4m3, "MN", 64), {64, 32}))
  local B = shared(f8e4m3, gmma_layout(f8e4m3, "K", 32))
  gemm(mma, thr:partition_A(A), thr:partition_B(B), thr:partition_fragment_C(C)) -- expect error: gemm: A Sw<2,4,3> o 0 o ((64,32),1,1):((1,64),0,0) is nothing that SM90_64x8x32_F32E4M3E4M3_SS_TN reads as A: it is contiguous along M, which wgmma reads of 16-bit elements only; of others both operands are contiguous along K
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
