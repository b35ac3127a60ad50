-- Shared memory of other blocks of a cluster: reads, copies, fills, atomic operations; ranks that differ
-- from lane to lane; and arrivals at other blocks' mbarriers.
local sums = kernel("sums", function(x, out)
  local s, t, sum = shared(f32, 64), threadIdx.x, 0.0
  s[t] = x[blockIdx.x * 64 + t]
  sync_cluster()
  for r in range(cluster_size()) do sum = sum + map_shared_rank(s, r)[t] end
  for r = 0, cluster_size() - 1 do sum = sum + map_shared_rank(s, r)[63 - t] end
  sum = sum + map_shared_rank(s, t % 4)[t]
  sync_cluster()
  out[blockIdx.x * 64 + t] = sum
end)
local x, out = arange(f32, 512), zeros(f32, 512)
local on_cpu <const> = not device().sm -- where checks are made
sums{grid = 8, block = 64, cluster = 4, check = on_cpu}(x, out)
local wrong = 0
for b = 0, 7 do
  for t = 0, 63 do
    local first = b // 4 * 4
    local want = x[(first + t % 4) * 64 + t]
    for r = 0, 3 do want = want + x[(first + r) * 64 + t] + x[(first + r) * 64 + 63 - t] end
    if out[b * 64 + t] ~= want then wrong = wrong + 1 end
  end
end
print(wrong)                             -- expect: 0

-- Each block writes into the other one.
local push = kernel("push", function(out)
  local s, marks = shared(f32, {32, 4}), shared(f32, {32, 2})
  local counts, mine = shared(i32, 2), fragment(f32, 4)
  local t, rank = threadIdx.x, cluster_rank()
  if t < 2 then counts[t] = 0 end
  sync_cluster()
  local there = map_shared_rank(s, 1 - rank)
  for i = 0, 3 do mine[i] = 10 * rank + i end
  copy(mine, there(t, _))
  if t == 5 then fill(map_shared_rank(marks, 1 - rank)(_, 0), 7) end
  atomic_add(map_shared_rank(counts, t % 2), 1, 1 + rank)
  sync_cluster()
  out[{blockIdx.x, t}] = s[{t, 3}] + marks[{t, 0}] * 1000.0 + cast(counts[1], f32) * 100000.0
end)
local o = zeros(f32, {2, 32})
push{grid = 2, block = 32, cluster = 2, check = on_cpu}(o)
print(o[{0, 3}], o[{1, 31}])             -- expect: 4807013.0	4807003.0
print(push{grid = 2, block = 32, cluster = 2}:source(o):match "float%* const there = [^\n]*;")
-- expect: float* const there = cluster_map(s, 1 - rank);

-- A ring: each block waits for the token of the one before it, writes into the next one and arrives there.
local ring = kernel("ring", function(out)
  local token, full = shared(i32, 1), mbarrier(1, 1)
  local rank, n = cluster_rank(), cluster_size()
  sync_cluster()
  if threadIdx.x == 0 then
    if rank > 0 then full[0]:wait(0) end
    local have = where(rank > 0, 1, 0)
    if rank > 0 then have = token[0] end
    out[blockIdx.x] = have
    if rank < n - 1 then
      map_shared_rank(token, rank + 1)[0] = have * 2 + 1
      full[0]:arrive(rank + 1)
    end
  end
  sync_cluster()
end)
local tokens = zeros(i32, 8)
ring{grid = 8, block = 32, cluster = 8, check = on_cpu}(tokens)
print(tokens[0], tokens[1], tokens[2], tokens[7]) -- expect: 0	1	3	127

-- What check finds: a read that nothing orders behind the other block's write, memory that the other block
-- has not written, and one that it overwrites too early.
device "cpu"
local function findings(f)
  local bad = kernel("bad", f){grid = 2, block = 32, cluster = 2, check = true}
  local _, message = pcall(bad, zeros(f32, 64))
  local text = tostring(message):match ":%d+: ([^\n]*)" or tostring(message)
  return text:gsub(" %(%d+ times%)", ""), nil
end
print((findings(function(out)
  local s, t = shared(f32, 32), threadIdx.x
  s[t] = t
  sync_threads()
  out[blockIdx.x * 32 + t] = map_shared_rank(s, 1 - cluster_rank())[t]
  sync_cluster()
end)))
-- expect: race: read of s at 0, extent 32, by thread (0,0,0) of block (0,0,0), and write by thread (0,0,0) of block (1,0,0) at line 80 are not ordered; put sync_cluster() between line 80 and line 82
print((findings(function(out)
  local s, t = shared(f32, 32), threadIdx.x
  if cluster_rank() == 0 then s[t] = t end
  sync_cluster()
  out[blockIdx.x * 32 + t] = map_shared_rank(s, 1 - cluster_rank())[t]
  sync_cluster()
end)))
-- expect: uninitialised: read of s at 0, extent 32, by thread (0,0,0) of block (0,0,0): no thread of the cluster has written it; write it first, then sync_cluster()
print((findings(function(out)
  local s, t = shared(f32, 32), threadIdx.x
  s[t] = t
  sync_cluster()
  out[blockIdx.x * 32 + t] = map_shared_rank(s, 1 - cluster_rank())[t]
  s[t] = 2 * t + 1
  sync_cluster()
end)))
-- expect: race: read of s at 0, extent 32, by thread (0,0,0) of block (0,0,0), and write by thread (0,0,0) of block (1,0,0) at line 99 are not ordered; put sync_cluster() between line 98 and line 99
-- needs sm_90
