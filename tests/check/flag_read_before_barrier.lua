-- One thread waits for a flag, and the other threads of its block do not wait for that thread.
local k = kernel("consume", function(x, y, flag)
  local t = threadIdx.x
  if blockIdx.x == 0 then
    x[t] = 2 * t
    sync_threads()
    if t == 0 then atomic_store(flag, 0, 1) end
  else
    if t == 40 then
      while atomic_load(flag, 0) == 0 do end
    end
    y[t] = x[t] + 1 -- finds: race: read of x at 0, extent 64, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at line 5 are not ordered; blocks run in any order: release a flag after the one (atomic_store, or fence() and then an atomic operation), acquire it before the other, with sync_threads() or, in a warp, sync_warp() between these and other threads
  end
end)
k{grid = 2, block = 64}(zeros(i32, 64), zeros(i32, 64), zeros(i32, 1))
