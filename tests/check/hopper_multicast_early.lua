-- A tile is sent to another block before that one is known to have initialised its barrier.
local k = kernel("early", function(A, C)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  sync_threads()                                   -- only this block's threads know of its barrier
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(8 * 32 * 4)
    if cluster_rank() == 0 then
      tma_load(tile(tma_tensor(A), {8, 32}, {0, 0}), s, full[0], {multicast = 3}) -- finds: full[0] of another block of the cluster is used by warp 0, which nothing tells that it was initialised; put sync_cluster() between its declaration and line 8
    end
  end
  full[0]:wait(0)
  C[{blockIdx.x, threadIdx.x}] = s[{0, threadIdx.x}]
  sync_cluster()
end)
k{grid = 2, block = 32, cluster = 2}(rand(f32, row_major{8, 32}), zeros(f32, row_major{2, 32}))
