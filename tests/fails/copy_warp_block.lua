local a = atom("SM75_U32x1_MOVM_T", f16)
local k = kernel("k", function(A)
  local r = fragment(f16, 2)
  copy(a, r, r) -- expect error: copy: SM75_U32x1_MOVM_T takes whole warps of 32 threads, but the block has 48; launch a multiple of 32
end)
k{grid = 1, block = 48}(zeros(f16, 256))
