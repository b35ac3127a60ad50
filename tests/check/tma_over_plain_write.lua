-- TMA fills what threads have cleared. They meet, but no fence orders the two paths to memory.
local k = kernel("fill", function(x, y)
  local s, full, t = shared(f32, 64), mbarrier(1, 1), threadIdx.x
  s[t] = 0.0
  sync_threads()
  if t == 0 then
    full[0]:arrive_expect_tx(32 * 4)
    tma_load(tile(tma_tensor(x), {32}, {0}), tile(s, {32}, {0}), full[0]) -- finds: race: write of s at 0, extent 64 by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and write by thread (0,0,0) at line 4 are not ordered; put fence_proxy_async() after line 4, then arrive or a barrier, then a wait before line 8
  end
  full[0]:wait(0)
  y[t] = s[63 - t]
end)
k{grid = 1, block = 64}(rand(f32, 32), zeros(f32, 64))
