-- A wait is for the thread's own copies: others see them after a barrier.
local k = kernel("own", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  copy(tile(x, 1, t), tile(s, 1, t))
  cp_async_commit()
  sync_threads()
  cp_async_wait(0)
  y[t] = s[63 - t] -- finds: cp.async: read of s at 63, extent 64, by thread (0,0,0) of block (0,0,0), before the copy by thread (63,0,0) at line 5 is complete; put cp_async_wait(0) and sync_threads() between line 5 and line 9, or wait for fewer pending groups; each group ends with cp_async_commit()
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
