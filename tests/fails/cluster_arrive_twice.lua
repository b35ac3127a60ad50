-- Two arrivals at the cluster's barrier without a wait.
local k = kernel("twice", function(x)
  cluster_arrive()
  cluster_arrive() -- expect error: cluster_arrive: thread (0,0,0) of block (0,0,0) arrives a second time; a cluster_wait must come between two cluster_arrive
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 2))
