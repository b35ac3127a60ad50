-- A deadlock is blamed on the block that misses something, not on those that wait for it.
local k = kernel("wait", function(x)
  local full = mbarrier(1, 1)
  cluster_sync()
  if cluster_rank() == 1 then full[0]:wait(0) end -- expect error: deadlock in block (1,0,0): warp 0 waits at line 5 for full[0], parity 0: 1 arrival is missing; in block (0,0,0) of the cluster warp 0 waits at line 6 for the cluster
  cluster_sync()
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 2))
