-- Boxes for both blocks of a cluster, from one that waits for its own consumers only.
local k = kernel("both", function(A, C, n)
  local s, full, empty = shared(f32, row_major{1, 32}), mbarrier(1, 1), mbarrier(1, 32)
  sync_cluster()
  local g = tile(tma_tensor(A), {1, 32}, {_, 0})
  if threadIdx.x < 32 then
    if threadIdx.x == 0 then
      local state = pipeline_state(1, {parity = 1})
      for i in range(n) do
        empty[0]:wait(state.parity)
        full[0]:arrive_expect_tx(32 * 4)
        if cluster_rank() == 0 then tma_load(g(_, _, i), s, full[0], {multicast = 3}) end -- finds: race: write of s at (0,0), extent (1,32) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and read by thread (32,0,0) of block (1,0,0) at line 20 are not ordered; let that block's readers call fence_proxy_async() after line 20 and then arrive here, as in empty[i]:arrive(rank), and wait for them before line 12, or put sync_cluster() between
        state:advance()
      end
    end
  else
    local state, sum = pipeline_state(1), 0.0
    for i in range(n) do
      full[0]:wait(state.parity)
      sum = sum + s[{0, threadIdx.x - 32}]
      empty[0]:arrive()
      state:advance()
    end
    C[{threadIdx.x - 32, blockIdx.x}] = sum
  end
  sync_cluster()
end)
k{grid = 2, block = 64, cluster = {2, 1, 1}}(rand(f32, row_major{3, 32}), zeros(f32, {32, 2}), 3)
