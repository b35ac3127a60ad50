-- Lanes give a slot back, and TMA fills it again, while what they read may still be on its way to them.
local k = kernel("ring", function(x, y, n)
  local s, full, empty = shared(f32, {32, 1}), mbarrier(1, 1), mbarrier(1, 1)
  local t, boxes = threadIdx.x % 32, tile(tma_tensor(x), {32, 1}, {_, _})
  sync_threads()
  if threadIdx.x == 32 then
    local state = pipeline_state(1, {parity = 1})
    for i in range(n) do
      empty[0]:wait(state.parity)
      full[0]:arrive_expect_tx(32 * 4)
      tma_load(boxes(_, _, 0, i), s, full[0]) -- finds: race: write of s at (0,0), extent (32,1) by a copy to an mbarrier, by thread (32,0,0) of block (0,0,0), and read by thread (0,0,0) at line 18 are not ordered; put fence_proxy_async() after line 18, then arrive or a barrier, then a wait before line 11
      state:advance()
    end
  elseif threadIdx.x < 32 then
    local state, sum = pipeline_state(1), 0.0
    for i in range(n) do
      full[0]:wait(state.parity)
      sum = sum + s[{t, 0}]
      sync_warp()
      if t == 0 then empty[0]:arrive() end
      state:advance()
    end
    y[t] = sum
  end
end)
k{grid = 1, block = 64}(rand(f32, {32, 3}), zeros(f32, 32), 3)
