-- A block with part of a warpgroup.
local mma = tiled_mma"SM90_64x8x16_F32F16F16_SS"
local k = kernel("group", function(C)
  local thr = mma:get_slice(threadIdx.x % 128)
  local k_major = gmma_layout(f16, "K", 32)
  local A, B = shared(f16, tile_to_shape(k_major, {64, 16})), shared(f16, k_major)
  gemm(mma, thr:partition_A(A), thr:partition_B(B), thr:partition_fragment_C(C)) -- expect error: gemm: SM90_64x8x16_F32F16F16_SS is an instruction of a warpgroup, 4 warps, but a block of 192 threads has one with 64; launch a multiple of 128 threads
end, {static_shapes = true})
k{grid = 1, block = 192}(zeros(f32, {64, 8}))
