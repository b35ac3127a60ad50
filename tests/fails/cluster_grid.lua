-- A grid that is not made of whole clusters.
local k = kernel("sum", function(x) x[blockIdx.x] = cluster_rank() end)
k{grid = 6, block = 32, cluster = 4}(zeros(i32, 6)) -- expect error: sum: grid (6,1,1) is no multiple of cluster (4,1,1); a grid is made of whole clusters, so round each of its extents up
