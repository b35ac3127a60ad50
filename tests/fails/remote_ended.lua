-- A block that has ended, and its shared memory with it.
local k = kernel("late", function(x)
  local s = shared(f32, 32)
  s[threadIdx.x] = 1
  cluster_sync()
  if cluster_rank() == 0 then
    x[threadIdx.x] = remote(s, 1)[threadIdx.x] -- expect error: s_2: block (1,0,0), whose memory it is, has ended; used by thread (0,0,0) of block (0,0,0). Let all blocks come to a cluster_sync before they end
  end
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, 32))
