-- A register has two neighbours.
local a = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("k", function(A)
  local s, r = shared(f16, layout({8, 8}, {8, 1})), fragment(f16, {2, 2})
  copy(a, s(threadIdx.x % 8, _), r(0, _)) -- expect error: copy: r (2):(2) does not hold the words of SM75_U32x1_LDSM_N: 2 neighbouring elements that begin at a multiple; retile a fragment of the MMA (retile_D, retile_S), or make one like the partition
end)
k{grid = 1, block = 32}(zeros(f16, 256))
