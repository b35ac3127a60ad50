local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("k", function(A)
  local rA = mma:get_slice(threadIdx.x):partition_fragment_A(A)  -- expect error: partition_fragment_A: the thread's part ((2,2,2),1,1):((1,128,8),256,16) of A has a dynamic shape; tile it first, or trace the kernel with {static_shapes = true}
  clear(rA)
end)
k{grid = 1, block = 32}(zeros(f16, row_major{16, 16}))
