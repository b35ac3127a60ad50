-- One block of a cluster never comes to its barrier, for it waits for the other one.
local k = kernel("wait", function(x)
  if cluster_rank() == 0 then
    while atomic_load(x, 0) == 0 do end -- expect error: deadlock: thread (0,0,0) of block (0,0,0) repeats the loop at line 4, and nothing that runs can end it
  end
  cluster_sync()
  atomic_store(x, 0, 1)
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 2))
