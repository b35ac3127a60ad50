-- A thread tells another block by a flag that its block has written, before the other warps of its block have come.
local k = kernel("publish", function(x, y, flag)
  local t = threadIdx.x
  if blockIdx.x == 0 then
    x[t] = 2 * t
    if t == 64 then atomic_store(flag, 0, 1) end
  else
    if t == 0 then
      while atomic_load(flag, 0) == 0 do end
    end
    sync_threads()
    y[t] = x[t] + 1 -- finds: race: read of x at 0, extent 96, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at line 5 are not ordered; blocks run in any order: release a flag after the one (atomic_store, or fence() and then an atomic operation), acquire it before the other, with sync_threads() or, in a warp, sync_warp() between these and other threads
  end
end)
k{grid = 2, block = 96}(zeros(i32, 96), zeros(i32, 96), zeros(i32, 1))
