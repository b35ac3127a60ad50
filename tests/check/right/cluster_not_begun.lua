-- A barrier of the cluster comes before the first access to the other block.
local k = kernel("push", function(C)
  local s = shared(f32, 32)
  local other = remote(s, 1 - cluster_rank())
  cluster_sync()
  other[threadIdx.x] = 1.0
  cluster_sync()
  C[{blockIdx.x, threadIdx.x}] = s[threadIdx.x]
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, row_major{2, 32}))
