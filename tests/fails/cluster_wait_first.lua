-- A wait at the cluster's barrier without an arrival.
local k = kernel("wait", function(x)
  cluster_wait() -- expect error: cluster_wait: thread (0,0,0) of block (0,0,0) waits without having arrived; a cluster_arrive must come before each cluster_wait
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 2))
