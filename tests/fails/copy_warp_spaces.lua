-- ldmatrix reads shared memory.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local r = fragment(f16, 2)
  copy(a, tile(A, 8, threadIdx.x), r) -- expect error: copy: SM75_U32x1_LDSM_N copies from shared memory to registers, but A is in global memory and r in registers
end)
k{grid = 1, block = 32}(zeros(f16, 256))
