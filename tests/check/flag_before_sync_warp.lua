-- All lanes of a warp write, and one tells another block before they have met.
local k = kernel("lanes", function(x, y, flag)
  local t = threadIdx.x
  if blockIdx.x == 0 then
    x[t] = 2 * t
    if t == 3 then atomic_add(flag, 0, 1, {order = "release"}) end
  else
    while atomic_load(flag, 0) == 0 do end
    y[t] = x[t] + 1 -- finds: race: read of x at 0, extent 32, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at line 5 are not ordered; blocks run in any order: release a flag after the one (atomic_store, or fence() and then an atomic operation), acquire it before the other, with sync_threads() or, in a warp, sync_warp() between these and other threads
  end
end)
k{grid = 2, block = 32}(zeros(i32, 32), zeros(i32, 32), zeros(i32, 1))
