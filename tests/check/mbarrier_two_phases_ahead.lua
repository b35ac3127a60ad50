-- A producer that does not wait for the consumer: two phases are complete when that comes to the first.
local k = kernel("ahead", function(x, y)
  local s = shared(f32, {32, 2})
  local full, t = mbarrier(1, 32), threadIdx.x % 32
  sync_threads()
  if threadIdx.x >= 32 then
    for i = 0, 1 do
      s[{t, i}] = x[{t, i}]
      full:arrive()
    end
  else
    local sum = 0.0
    for i in range(2) do
      full:wait(i % 2) -- finds: deadlock in block (0,0,0): warp 0 waits at line 14 for full[0], parity 0: 32 arrivals are missing; phases 0 and 1 of full[0] were complete (line 9) before warp 0 waited for phase 0 at line 14: that wait is for phase 2, whose parity is that of phase 0. What completes phase 1 must come after that wait: let the arriving warp wait until the slot is empty
      sum = sum + s[{31 - t, i}]
    end
    y[t] = sum
  end
end)
k{grid = 1, block = 64}(rand(f32, {32, 2}), zeros(f32, 32))
