-- One lane waits for its own copy, and for nobody else's.
local k = kernel("copies", function(x, y)
  local s, t = shared(f32, 32), threadIdx.x
  copy(tile(x, {1}, {t}), tile(s, {1}, {t}))
  cp_async_commit()
  if t == 0 then cp_async_wait(0) end
  sync_warp()
  y[t] = s[31 - t] -- finds: cp.async: read of s at 31, extent 32, by thread (0,0,0) of block (0,0,0), before the copy by thread (31,0,0) at line 4 is complete; put cp_async_wait(0) and sync_threads() between line 4 and line 8, or wait for fewer pending groups; each group ends with cp_async_commit()
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
