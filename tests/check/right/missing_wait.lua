-- Each thread waits for its copy, and the barrier tells the others.
local k = kernel("late", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  copy(tile(x, 1, t), tile(s, 1, t))
  cp_async_wait(0)
  sync_threads()
  y[t] = s[63 - t]
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
