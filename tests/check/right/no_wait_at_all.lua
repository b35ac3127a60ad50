-- The kernel ends a group of copies, and waits for it before the barrier.
local k = kernel("late", function(x, y)
  local s, t = shared(f32, 64), threadIdx.x
  copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u32>", f32), tile(x, {1}, {t}), tile(s, {1}, {t}))
  cp_async_commit()
  cp_async_wait(0)
  sync_threads()
  y[t] = s[63 - t]
end)
local y = zeros(f32, 64)
k{grid = 1, block = 64}(ones(f32, 64), y)
for i = 0, 63 do assert(y[i] == 1) end
