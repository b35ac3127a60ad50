-- All lanes of a warp take part.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {8, 1})), fragment(f16, 2)
  if threadIdx.x < 8 then
    copy(a, s(threadIdx.x % 8, _), r) -- expect error: copy: thread (0,0,0) of block (0,0,0) waits at line 6, but thread (8,0,0) is past line 5; all threads of a warp must reach the same copy
  end
  A[threadIdx.x] = r[0]
end)
k{grid = 1, block = 32}(zeros(f16, 256))
