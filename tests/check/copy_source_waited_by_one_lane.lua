-- One lane waits for its own copy; the sources of the others are written while they may still be read.
local k = kernel("copies", function(x, y)
  local s, t = shared(f32, 32), threadIdx.x
  copy(tile(x, {1}, {t}), tile(s, {1}, {t}))
  cp_async_commit()
  if t == 0 then cp_async_wait(0) end
  x[t] = 1 -- finds: cp.async: write of x at 1, extent 32, by thread (1,0,0) of block (0,0,0), while its copy at line 4 may still read it; put cp_async_wait(0) between line 4 and line 7, or wait for fewer pending groups; each group ends with cp_async_commit()
  cp_async_wait(0)
  sync_threads()
  y[t] = s[31 - t]
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
