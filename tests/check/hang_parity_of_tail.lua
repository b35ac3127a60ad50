-- A worker turns the parity of its barrier after each step of a tile except the last one, so that it begins the second
-- tile with the wrong one.
local k = kernel("tail", function(x, y)
  local s, full, empty = shared(i32, 32), mbarrier(1, 32), mbarrier(1, 32)
  local t, lane = threadIdx.x, threadIdx.x % 32
  sync_threads()
  if t < 32 then
    for i in range(6) do
      empty[0]:wait((i + 1) % 2) -- finds: deadlock in block (0,0,0): warp 0 waits at line 9 for empty[0], parity 0: 32 arrivals are missing; warp 1 waits at line 17 for full[0], parity 1: 32 arrivals are missing; phases 2 and 3 of empty[0] were complete (line 19) before warp 0 waited for phase 2 at line 9: that wait is for phase 4, whose parity is that of phase 2. What completes phase 3 must come after that wait: let the arriving warp wait until the slot is empty
      s[lane] = x[i * 32 + lane]
      full[0]:arrive()
    end
  else
    local parity, sum = 0, 0
    for _ in range(2) do
      for step in range(3) do
        full[0]:wait(parity)
        sum = sum + s[lane]
        empty[0]:arrive()
        if step < 2 then parity = 1 - parity end
      end
    end
    y[lane] = sum
  end
end)
k{grid = 1, block = 64}(zeros(i32, 192), zeros(i32, 32))
