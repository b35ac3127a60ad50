-- One thread loads the next box where the other lanes of its warp have read.
local both = kernel("both", function(x, y)
  local t = threadIdx.x
  local s, full = shared(f32, {8, 4}), mbarrier(2, 1)
  sync_threads()
  for i = 0, 1 do
    if t == 0 then
      full[i]:arrive_expect_tx(8 * 4 * 4)
      tma_load(tile(tma_tensor(x), {8, 4}, {0, i}), s, full[i])
    end
    full[i]:wait(0)
    y[32 * i + t] = s[{t % 8, t // 8}]
    fence_proxy_async()
    sync_warp()                                            -- all lanes have read
  end
end)
both{grid = 1, block = 32}(rand(f32, {8, 8}), zeros(f32, 64))
