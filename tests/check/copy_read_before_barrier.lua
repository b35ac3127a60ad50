-- A plain copy is complete at the next sync_threads, not before: even for the thread that made it.
local k = kernel("own", function(x, y)
  local s = shared(f32, 64)
  local mine = tile(s, 2, threadIdx.x)
  copy(tile(x, 2, threadIdx.x), mine)
  y[threadIdx.x] = mine[0] + mine[1] -- finds: cp.async: read of s at 0, extent 64, by thread (0,0,0) of block (0,0,0), before the copy by thread (0,0,0) at line 5 is complete; put cp_async_wait(0) and sync_threads() between line 5 and line 6, or wait for fewer pending groups; each group ends with cp_async_fence()
end)
k{grid = 1, block = 32}(rand(f32, 64), zeros(f32, 32))
