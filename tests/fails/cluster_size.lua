-- More blocks than any device has in a cluster.
local k = kernel("sum", function(x) x[blockIdx.x] = cluster_rank() end)
k{grid = 64, block = 32, cluster = {8, 4}}(zeros(i32, 64)) -- expect error: sum: cluster (8,4,1); expected 1 to 8 blocks in all, which every device with clusters runs, or up to 16, which some do
