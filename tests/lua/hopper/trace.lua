-- trace through boxes of TMA, a multicast, wgmma's tiles and shared memory of another block: what is
-- named is what a loop says, and what is outside comes as 0.
-- needs sm_90
-- "A: 3 5 7" of what is read or written of a tensor, by offset.
local function touched(t, kind, tensor, owner)
  local seen, list = {}, {}
  for _, row in ipairs(t.rows) do
    if row.kind == kind and row.tensor == tensor and (not owner or row.owner == owner)
      and not seen[row.offset] then
      seen[row.offset] = true
      list[#list + 1] = row.offset
    end
  end
  table.sort(list)
  return table.concat(list, " ")
end

-- Each block brings half of a tile for both, writes its sums into the other one, and stores by TMA.
local halves = kernel("halves", function(A, C)
  local s, full = shared(f32, row_major{16, 32}), mbarrier(1, 1)
  local sums, rank, t = shared(f32, row_major{1, 32}), cluster_rank(), threadIdx.x
  sync_cluster()
  if t == 0 then
    full[0]:arrive_expect_tx(16 * 32 * 4)
    tma_load(tile(tma_tensor(A), {8, 32}, {blockIdx.x, 0}), tile(s, {8, 32}, {rank, 0}), full[0],
      {multicast = 3})
  end
  full[0]:wait(0)
  local sum = 0.0
  for j = 0, 15 do sum = sum + s[{j, t}] end
  map_shared_rank(sums, 1 - rank)[{0, t}] = sum * (rank + 1)
  sync_cluster()
  sums[{0, t}] = sums[{0, t}] + map_shared_rank(s, 1 - rank)[{0, 31 - t}]
  fence_proxy_async()
  sync_threads()
  if t == 0 then
    tma_store(sums, tile(tma_tensor(C), {1, 32}, {blockIdx.x, 0}), {reduce = "add"})
    tma_store_commit()
    tma_store_wait(0)
  end
  sync_cluster()
end)
local rows = 30
local A, C = rand(f32, row_major{rows, 32}), zeros(f32, row_major{4, 32})
local t = trace(halves{grid = 4, block = 32, cluster = 2}, {C = {3, 5}}, A, C)
local expected = {}
for i = 16, rows - 1 do -- rows of the cluster, and the first of them in column 31 - 5
  expected[#expected + 1] = i * 32 + 5
  if i == 16 then expected[#expected + 1] = i * 32 + 26 end
end
print(touched(t, "reads", "A") == table.concat(expected, " ")) -- expect: true
print(touched(t, "zeros", "A"), touched(t, "reads", "C"), touched(t, "writes", "C"))
-- expect: 0	101	101
print(touched(t, "writes", "sums", 3), touched(t, "reads", "s", 2), touched(t, "writes", "s", 2))
-- expect: 5	26	261 293 325 357 389 421 453 485
for line in tostring(t):gmatch("[^\n]+") do
  if line:find("of block %d") then print((line:gsub("^ +", ""))) end
end
-- expect: -> sums(0,5) of block 3, thread 5, 3 times
-- expect: A(24..29,5), 0 outside A -> s(8..15,5) of block 2, thread 0
-- expect: sums(0,5), s(0,26) of block 2 -> sums(0,5), thread 5
print(#t:html() > 1000)
-- expect: true

-- An element of a product, through descriptors of swizzled tiles.
local mma = tiled_mma("SM90_64x32x16_F32BF16BF16_SS")
local product = kernel("product", function(P, Q, C)
  local k_major = gmma_layout(bf16, "K", 128)
  local sP = shared(bf16, tile_to_shape(k_major, {64, 64}))
  local sQ = shared(bf16, tile_to_shape(k_major, {32, 64}))
  local full = mbarrier(1, 1)
  sync_threads()
  local thr = mma:get_slice(threadIdx.x)
  local sum = thr:partition_fragment_C(tile(C, {64, 32}, {0, 0}))
  for k = 0, 1 do
    if threadIdx.x == 0 then
      full[0]:arrive_expect_tx((64 + 32) * 64 * 2)
      tma_load(tile(tma_tensor(P), {64, 64}, {blockIdx.x, k}), sP, full[0])
      tma_load(tile(tma_tensor(Q), {32, 64}, {0, k}), sQ, full[0])
    end
    full[0]:wait(k)
    wgmma_fence()
    gemm(mma, thr:partition_A(sP), thr:partition_B(sQ), sum, {accumulate = k > 0})
    wgmma_commit()
    wgmma_wait(0)
    sync_threads()
  end
  copy(sum, thr:partition_C(tile(C, {64, 32}, {blockIdx.x, 0})))
end)
t = trace(product{grid = 2, block = 128}, {C = {70, 9}}, rand(bf16, row_major{128, 128}),
  rand(bf16, row_major{32, 128}), zeros(f32, row_major{128, 32}))
local p, q = {}, {}
for k = 0, 127 do p[k + 1], q[k + 1] = 70 * 128 + k, 9 * 128 + k end
print(touched(t, "reads", "P") == table.concat(p, " "))  -- expect: true
print(touched(t, "reads", "Q") == table.concat(q, " "))  -- expect: true
for line in tostring(t):gmatch("[^\n]+") do
  if line:find(", thread", 1, true) then print((line:gsub("^ +", ""))) end
end
-- expect: P(70,0..127) -> sP(6,0..63), thread 0
-- expect: Q(9,0..127) -> sQ(9,0..63), thread 0
-- expect: sP(6,0..63), sQ(9,0..63), thread 24, 2 times
-- expect: -> C(70,9), thread 24
