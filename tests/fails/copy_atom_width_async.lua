-- Of cp.async there is none below 4 bytes.
local tc = tiled_copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u32>", f16), layout{8, 4}, layout{2, 1})
local k = kernel("k", function(A)
  local sA = shared(f16, layout({16, 4}, {4, 1}))
  local thr = tc:get_slice(threadIdx.x)
  copy(tc, thr:partition_S(A), thr:partition_D(sA)) -- expect error: copy: SM80_CP_ASYNC_CACHEALWAYS<u32> takes 2 x f16 at once, but neighbours in sA are not neighbours in memory; copy without an atom, or give threads the elements that lie side by side
end, {static_shapes = true})
k{grid = 1, block = 32}(zeros(f16, {16, 4}))
