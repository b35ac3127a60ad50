-- A block that ends while another one of its cluster may still arrive at its barrier.
local k = kernel("leave", function(x)
  local done = mbarrier(1, 1)
  sync_cluster()
  x[blockIdx.x * 32 + threadIdx.x] = 1
  if cluster_rank() == 0 and threadIdx.x == 0 then
    done[0]:arrive(1) -- finds: done[0] of block (1,0,0) is used from another block of the cluster, and that block may have ended: nothing that it waits for comes after this; let all blocks reach sync_cluster() before they end
  end
end)
k{grid = 2, block = 32, cluster = {2, 1, 1}}(zeros(f32, 64))
