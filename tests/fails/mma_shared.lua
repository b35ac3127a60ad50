-- A in shared memory, which this instruction does not read.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local k = kernel("shared_a", function(out)
  local sA = shared(f16, {16, 16})
  local thr = mma:get_slice(threadIdx.x)
  local tCsA = thr:partition_A(sA)
  local rB, rC = fragment(f16, {4, 1, 1}), fragment(f32, {4, 1, 1})
  gemm(mma, tCsA, rB, rC) -- expect error: gemm: tCsA ((2,2,2),1,1):((16,8,128),0,0) is in shared memory; SM80_16x8x16_F32F16F16F32_TN takes registers: copy it to a fragment, partition_fragment_A makes one
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(f32, 1))
