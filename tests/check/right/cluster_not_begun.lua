-- A barrier of the cluster comes before the first access to the other block.
local k = kernel("push", function(C)
  local s = shared(f32, 32)
  local other = map_shared_rank(s, 1 - cluster_rank())
  sync_cluster()
  other[threadIdx.x] = 1.0
  sync_cluster()
  C[{blockIdx.x, threadIdx.x}] = s[threadIdx.x]
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, row_major{2, 32}))
