-- A rank that the cluster has no block of.
local k = kernel("reach", function(x, r)
  local s = shared(f32, 32)
  s[threadIdx.x] = 1
  cluster_sync()
  x[threadIdx.x] = remote(s, r)[threadIdx.x] -- expect error: s_2: rank 2, by thread (0,0,0) of block (1,0,0); a cluster of 2 blocks has ranks 0 to 1
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, 32), 2)
