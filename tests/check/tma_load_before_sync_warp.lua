-- One thread loads the next box where the other lanes of its warp may still read.
local both = kernel("both", function(x, y)
  local t = threadIdx.x
  local s, full = shared(f32, {8, 4}), mbarrier(2, 1)
  sync_threads()
  for i = 0, 1 do
    if t == 0 then
      full[i]:arrive_expect_tx(8 * 4 * 4)
      tma_load(tile(tma_tensor(x), {8, 4}, {0, i}), s, full[i]) -- finds: race: write of s at (1,0), extent (8,4) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and read by thread (1,0,0) at line 12 are not ordered; put fence_proxy_async() after line 12, then arrive or a barrier, then a wait before line 9
    end
    full[i]:wait(0)
    y[32 * i + t] = s[{t % 8, t // 8}]
    fence_proxy_async()
  end
end)
both{grid = 1, block = 32}(rand(f32, {8, 8}), zeros(f32, 64))
