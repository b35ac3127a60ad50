-- Another block's shared memory is written before that block is known to run.
local k = kernel("push", function(C)
  local s = shared(f32, 32)
  local other = map_shared_rank(s, 1 - cluster_rank())
  other[threadIdx.x] = 1.0 -- finds: other: block (1,0,0), whose memory it is, may not have begun; put sync_cluster() before line 5
  sync_cluster()
  C[{blockIdx.x, threadIdx.x}] = s[threadIdx.x]
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, row_major{2, 32}))
