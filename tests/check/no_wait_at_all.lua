-- Nothing waits for a copy by an atom of cp.async, and a barrier does not.
local k = kernel("late", function(x, y)
  local s, t = shared(f32, 64), threadIdx.x
  copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u32>", f32), tile(x, {1}, {t}), tile(s, {1}, {t}))
  sync_threads()
  y[t] = s[63 - t] -- finds: cp.async: read of s at 63, extent 64, by thread (0,0,0) of block (0,0,0), before the copy by thread (63,0,0) at line 4 is complete; put cp_async_wait(0) and sync_threads() between line 4 and line 6, or wait for fewer pending groups; each group ends with cp_async_commit()
end)
k{grid = 1, block = 64}(ones(f32, 64), zeros(f32, 64))
