-- None of them has ended.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {8, 1})), fragment(f16, 2)
  if threadIdx.x >= 8 then return end
  copy(a, s(threadIdx.x % 8, _), r) -- expect error: copy: all 32 threads of a warp are needed, but some of the warp of thread (0,0,0) of block (0,0,0) have ended; let all threads come here
  A[threadIdx.x] = r[0]
end)
k{grid = 1, block = 32}(zeros(f16, 256))
