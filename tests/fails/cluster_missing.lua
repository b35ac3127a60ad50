-- One block of a cluster waits at its barrier, the other one for a message that never comes.
local k = kernel("wait", function(x)
  local full = mbarrier(1, 1)
  cluster_sync()
  if cluster_rank() == 0 then full[0]:wait(0) end -- expect error: deadlock in block (0,0,0): warp 0 waits at line 5 for full[0], parity 0: 1 arrival is missing
  cluster_sync()
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 2))
