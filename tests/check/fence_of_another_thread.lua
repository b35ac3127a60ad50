-- All threads have a fence before the barrier; the one that tells has none after it.
local k = kernel("fenced", function(x, y, count)
  local t = threadIdx.x
  local is_last = shared(bool, 1)
  x[blockIdx.x * 64 + t] = t
  fence()
  sync_threads()
  if t == 0 then
    is_last[0] = atomic_add(count, 0, 1) == gridDim.x - 1
    fence()
  end
  sync_threads()
  if is_last[0] then
    y[t] = x[t] + x[64 + t] -- finds: race: read of x at 1, extent 128, by thread (1,0,0) of block (1,0,0), and write by thread (1,0,0) of block (0,0,0) at line 5 are not ordered; blocks run in any order: release a flag after the one (atomic_store, or fence() and then an atomic operation), acquire it before the other, with sync_threads() or, in a warp, sync_warp() between these and other threads
  end
end)
k{grid = 2, block = 64}(zeros(i32, 128), zeros(i32, 64), zeros(i32, 1))
