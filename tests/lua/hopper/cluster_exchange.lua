-- Blocks of a cluster write to each other's memory and arrive at each other's mbarriers. An arrival of
-- single lanes keeps the other block alive until it, so check finds nothing. The instructions have the
-- cluster's scope: the one of the block let a write come after its arrival on an H200.
-- needs sm_90
local exchange = kernel("exchange", function(y)
  local s, bar = shared(i32, 4), mbarrier(1, 4)
  local rank, t = cluster_rank(), threadIdx.x
  sync_cluster()
  if t < 4 then
    map_shared_rank(s, t)[rank] = 10 * rank + t
    bar[0]:arrive(t)
  end
  bar[0]:wait(0)
  if t < 4 then y[{blockIdx.x, t}] = s[t] end
end)
local y = zeros(i32, row_major{4, 4})
local launch = exchange{grid = 4, block = 32, cluster = 4, check = not device().sm}
launch(y)
print(y[{1, 0}], y[{1, 1}], y[{1, 2}], y[{1, 3}])
-- expect: 1	11	21	31
local text = launch:source(y)
print(text:find("mbarrier.arrive.release.cluster.shared::cluster", 1, true) ~= nil,
  text:find("mbarrier.try_wait.parity.acquire.cluster", 1, true) ~= nil)
-- expect: true	true

local release = kernel("release", function(y)
  local bar = mbarrier(1, 2)
  sync_cluster()
  if threadIdx.x < 2 then bar[0]:arrive(threadIdx.x) end
  bar[0]:wait(0)
  y[blockIdx.x] = 1
end)
local plain = release{grid = 2, block = 32, cluster = 2}:source(zeros(i32, 2))
print(plain:find(".cluster.shared", 1, true))
-- expect: nil

-- Nobody arrives at another block's mbarrier, so a wait has no reason for the cluster's scope, which
-- would empty the L1 cache.
local own = kernel("own", function(y)
  local s, bar = shared(i32, 2), mbarrier(1, 1)
  sync_cluster()
  if threadIdx.x == 0 then
    map_shared_rank(s, 1 - cluster_rank())[0] = 7
    bar[0]:arrive()
  end
  bar[0]:wait(0)
  sync_cluster()
  y[blockIdx.x] = s[0]
end)
local z = zeros(i32, 2)
own{grid = 2, block = 32, cluster = 2}(z)
local of_block = own{grid = 2, block = 32, cluster = 2}:source(z)
print(z[0], z[1], of_block:find("acquire.cluster.shared", 1, true))
-- expect: 7	7	nil
