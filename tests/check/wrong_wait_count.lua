-- Two groups are under way, and the kernel needs the newer one: cp_async_wait(1) waits for the older.
local k = kernel("pipe", function(x, y)
  local s = shared(f32, {64, 2})
  local t = threadIdx.x
  for i = 0, 1 do
    copy(tile(x(_, i), 1, t), tile(s(_, i), 1, t))
    cp_async_commit()
  end
  cp_async_wait(1)
  sync_threads()
  y[t] = s[{63 - t, 1}] -- finds: cp.async: read of s at (63,1), extent (64,2), by thread (0,0,0) of block (0,0,0), before the copy by thread (63,0,0) at line 6 is complete; put cp_async_wait(0) and sync_threads() between line 6 and line 11, or wait for fewer pending groups; each group ends with cp_async_commit()
  cp_async_wait(0)
end)
k{grid = 1, block = 64}(rand(f32, {64, 2}), zeros(f32, 64))
