-- A cluster's barrier that only some lanes of a warp reach.
local k = kernel("some", function(x)
  if threadIdx.x < 5 then
    cluster_sync() -- expect error: cluster_arrive: thread (0,0,0) of block (0,0,0) waits at line 4, but thread (5,0,0) is past line 3; all threads of a warp must reach the same cluster_arrive
  end
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 2))
