-- The source of a load by TMA is written before the load is complete. The second time there is a wait before.
local k = kernel("source", function(A, y)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(2, 1)
  sync_threads()
  for i = 0, 1 do
    if threadIdx.x == 0 then
      full[i]:arrive_expect_tx(s)
      tma_load(tile(tma_tensor(A), {8, 32}, {i, 0}), s, full[i])
    end
    if i == 1 then full[i]:wait(0) end
    sync_threads()
    A[{8 * i, threadIdx.x}] = 1.0 -- finds: race: write of A at (0,0), extent (16,32), by thread (0,0,0) of block (0,0,0), and read by a copy to an mbarrier by thread (0,0,0) at line 8 are not ordered; TMA reads by another path: write there after a wait for that phase of its mbarrier, and put fence_proxy_async("global") after a write that it is to read
    full[i]:wait(0)
    y[{threadIdx.x, i}] = s[threadIdx.x]
    fence_proxy_async()
    sync_threads()
  end
end)
k{grid = 1, block = 32}(rand(f32, row_major{16, 32}), zeros(f32, {32, 2}))
