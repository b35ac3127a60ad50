-- peer_tensor(x, rank) and r:peers(t): kernels that use the memory of other ranks.
device "cpu:4"
local m = mesh{ a = 4 }
local sys = { scope = "sys" }

-- Loads, stores and atomic operations: each rank reads its left neighbour's part, writes its right
-- one's, and counts at rank 0.
local touch = kernel("touch", function(left, mine, right, n)
  local i = threadIdx.x
  right[i] = left[i] + 10 * mine[i]
  atomic_add(n, 0, 1, sys)
end)
local x, y = m:zeros(i32, { 16 }, "(M@a)"), m:zeros(i32, { 16 }, "(M@a)")
local n = m:zeros(i32, { 4 }, "(M@a)")
m:run(function(r)
  fill(x:part(r.rank), r.rank + 1)
  r:barrier()
  local left, right = (r.rank + 3) % 4, (r.rank + 1) % 4
  touch{ grid = 1, block = 4, check = true }(peer_tensor(x, left), x:part(r.rank),
    peer_tensor(y, right), peer_tensor(n, 0))
end)
print(y:whole():totable()[1], y:part(1)[0], y:part(2)[3], n:part(0)[0]) -- expect: 43	14	21	16

-- A list of all ranks' parts; the own one among them.
local sum = kernel("sum", function(parts, out)
  local i, s = threadIdx.x, 0
  for k in range(#parts) do s = s + parts[k + 1][i] end
  out[i] = s
end)
local out = m:zeros(i32, { 16 }, "(M@a)")
m:run(function(r)
  local parts = {}
  r:barrier()
  for rank = 0, 3 do parts[rank + 1] = peer_tensor(x, rank) end
  sum{ grid = 1, block = 4, check = true }(parts, out:part(r.rank))
end)
print(out:part(0)[0], out:part(3)[3]) -- expect: 10	10

-- Tensors of the ranks' own, by r:peers.
local ring = kernel("ring", function(mine, theirs)
  theirs[threadIdx.x] = mine[threadIdx.x] + 100
end)
local got = m:run(function(r)
  local t, u = full(i32, 8, r.rank), zeros(i32, 8)
  local peers = r:peers(u)
  ring{ grid = 1, block = 8, check = true }(t, peers[(r.rank + 1) % 4])
  r:barrier()
  return u[7]
end)
print(got[0], got[1], got[2], got[3]) -- expect: 103	100	101	102

-- TMA loads and stores: a rank brings its neighbour's part and puts it into the next one.
local carry = kernel("carry", function(from, to)
  local source, target = tile(tma_tensor(from), { 32 }, { 0 }), tile(tma_tensor(to), { 32 }, { 0 })
  local s, full = shared(f32, { 32 }), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(128)
    tma_load(source, s, full[0])
  end
  full[0]:wait(0)
  s[threadIdx.x] = s[threadIdx.x] + 1
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    tma_store(s, target)
    tma_store_commit()
    tma_store_wait(0)
  end
end)
local p, q = shard(arange(f32, 128), "(M@a)", m), m:zeros(f32, { 128 }, "(M@a)")
local ok, why = pcall(m.run, m, function(r)
  r:barrier()
  carry{ grid = 1, block = 32, check = true }(peer_tensor(p, (r.rank + 1) % 4),
    peer_tensor(q, (r.rank + 2) % 4))
end)
print(ok and q:part(2)[0] or why) -- expect: 33.0
print(q:part(1)[31]) -- expect: 32.0

-- Only kernels use it.
ok, why = pcall(m.run, m, function(r) fill(peer_tensor(x, (r.rank + 1) % 4), 1) end)
print(ok, why:match("is memory of another rank[^;]*")) -- expect: false	is memory of another rank, which only kernels can use
ok, why = pcall(peer_tensor, x, 4)
print(ok, why:match("peer_tensor: .*")) -- expect: false	peer_tensor: argument 2 is 4; a rank of mesh (a=4):(1) was expected, 0 to 3
