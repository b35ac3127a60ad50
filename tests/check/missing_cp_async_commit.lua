-- Without cp_async_commit there is no group that cp_async_wait(1) could wait for.
local k = kernel("groups", function(x, y)
  local s = shared(f32, {64, 2})
  local t = threadIdx.x
  copy(tile(x(_, 0), 1, t), tile(s(_, 0), 1, t))
  copy(tile(x(_, 1), 1, t), tile(s(_, 1), 1, t))
  cp_async_commit()
  cp_async_wait(1)
  sync_threads()
  y[t] = s[{63 - t, 0}] -- finds: cp.async: read of s at (63,0), extent (64,2), by thread (0,0,0) of block (0,0,0), before the copy by thread (63,0,0) at line 5 is complete; put cp_async_wait(0) and sync_threads() between line 5 and line 10, or wait for fewer pending groups; each group ends with cp_async_commit()
  cp_async_wait(0)
end)
k{grid = 1, block = 64}(rand(f32, {64, 2}), zeros(f32, 64))
