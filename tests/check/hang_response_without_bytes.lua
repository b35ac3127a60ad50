-- A scheduler warp asks for the next tile and lets the workers wait for its bytes. After the last tile it still
-- announces bytes, but nothing answers.
local k = kernel("scheduler", function(tiles, y)
  local answer, full, empty = shared(i32, {32, 1}), mbarrier(1, 1), mbarrier(1, 1)
  local t, boxes = threadIdx.x, tile(tma_tensor(tiles), {32, 1}, {_, _})
  sync_threads()
  for i in range(3) do
    if t >= 32 then
      if t == 32 then
        empty[0]:wait((i + 1) % 2)
        full[0]:arrive_expect_tx(128)
        if i < size(tiles, 1) then tma_load(boxes(_, _, 0, i), answer, full[0]) end
      end
    else
      full[0]:wait(i % 2) -- finds: deadlock in block (0,0,0): warp 0 waits at line 15 for full[0], parity 0: 128 bytes are missing
      y[t] = answer[{t, 0}]
      fence_proxy_async()
      sync_warp()
      if t == 0 then empty[0]:arrive() end
    end
  end
end)
k{grid = 1, block = 64}(zeros(i32, {32, 2}), zeros(i32, 32))
