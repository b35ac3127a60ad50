-- Clusters of blocks: ranks, the cluster's barrier, what the launch takes.
-- needs sm_90
local ranks = kernel("ranks", function(out)
  local b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)
  out[{b, 0}] = cluster_rank()
  out[{b, 1}] = cluster_size()
end)
local t = zeros(i32, {4 * 6 * 2, 2})
ranks{grid = {4, 6, 2}, block = 1, cluster = {2, 3, 2}}(t)
local wrong = 0
for z = 0, 1 do
  for y = 0, 5 do
    for x = 0, 3 do
      local b = x + 4 * (y + 6 * z)
      local want = x % 2 + 2 * (y % 3 + 3 * (z % 2))
      if t[{b, 0}] ~= want or t[{b, 1}] ~= 12 then wrong = wrong + 1 end
    end
  end
end
print(wrong)                             -- expect: 0
ranks{grid = {4, 6, 2}, block = 1}(t)
print(t[{47, 0}], t[{47, 1}])                -- expect: 0	1

-- Each block adds up what all blocks of its cluster wrote before the barrier, again and again: without
-- waiting for the last one, it would miss some. 12 clusters, 3 warps, one of which ends early.
local sums = kernel("sums", function(x, out)
  local first = blockIdx.x - cluster_rank()
  if threadIdx.x < 64 then
    for round in range(3) do
      if threadIdx.x == 33 then x[blockIdx.x] = x[blockIdx.x] + blockIdx.x end
      sync_cluster()
      local s = 0
      for i in range(4) do s = s + x[first + i] end
      cluster_arrive()
      if threadIdx.x == 0 then out[blockIdx.x] = s end
      cluster_wait()
    end
  end
end)
local x, out = zeros(i32, 48), zeros(i32, 48)
sums{grid = 48, block = 96, cluster = 4}(x, out)
wrong = 0
for b = 0, 47 do
  local first = b // 4 * 4
  if out[b] ~= 3 * (4 * first + 6) then wrong = wrong + 1 end
end
print(wrong)                             -- expect: 0

-- The blocks of a cluster run at the same time, also where one waits for another in a loop.
local answer = zeros(i32, 2)
local seen = zeros(i32, 2)
kernel("both", function(flags, seen)
  if threadIdx.x == 0 then
    atomic_store(flags, cluster_rank(), 1)
    while atomic_load(flags, 1 - cluster_rank()) == 0 do end
    seen[cluster_rank()] = 1
  end
end){grid = 2, block = 32, cluster = {2}}(answer, seen)
print(seen[0], seen[1])                  -- expect: 1	1

-- The extents are part of the specialisation, and of the text.
local text = ranks{grid = 4, block = 32, cluster = {2, 2 - 1}}:source(t)
print(text:match "__cluster_dims__%b()") -- expect: __cluster_dims__(2, 1, 1)
print(ranks{grid = 4, block = 32, pdl = true}:source(t):match "__cluster_dims__") -- expect: nil
