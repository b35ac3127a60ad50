-- tma_store to the shared memory of another block: types, parts of memory, ranks of each thread; nothing is found.
-- needs sm_90
local SIZE <const>, N <const> = 4, 32

-- Thread i of each block sends row i of its memory to row `rank` of block (rank + i) % SIZE.
local function sent(dtype)
  local k = kernel("sent", function(x, y)
    local own, got, full = shared(dtype, {N, SIZE}), shared(dtype, {N, SIZE}), mbarrier(2, 1)
    local rank, t = cluster_rank(), threadIdx.x
    if t == 0 then full[1]:arrive_expect_tx(got) end
    for i = 0, SIZE - 1 do own[{t, i}] = x[{t, i, rank}] end
    fence_proxy_async()
    sync_cluster()
    if t < SIZE then tma_store(own(_, t), got(_, rank), full[1], (rank + t) % SIZE) end
    full[1]:wait(0)
    for i = 0, SIZE - 1 do y[{t, i, rank}] = got[{t, i}] end
    sync_cluster()
  end)
  local shape = {N, SIZE, SIZE}
  local x, y = tensor(dtype, shape), zeros(dtype, shape)
  for i = 0, size(x) - 1 do x[i] = i % 100 end
  k{grid = SIZE, block = N, cluster = SIZE, check = true}(x, y)
  for t = 0, N - 1 do
    for from = 0, SIZE - 1 do
      for rank = 0, SIZE - 1 do
        local want = x[{t, (rank - from) % SIZE, from}]
        if y[{t, from, rank}] ~= want then return ("%d,%d,%d"):format(t, from, rank) end
      end
    end
  end
  return true
end

for _, dtype in ipairs{f32, bf16, u8, i64} do print(dtype, sent(dtype)) end
-- expect: f32	true
-- expect: bf16	true
-- expect: u8	true
-- expect: i64	true

-- Swizzled tiles are sent as they lie, by the whole memory.
local tiles = kernel("tiles", function(x, y)
  local l = composition(swizzle(2, 2, 3), row_major{8, 16})
  local own, got, full = shared(f32, 128), shared(f32, 128), mbarrier(1, 1)
  local t = threadIdx.x
  if t == 0 and cluster_rank() == 1 then full[0]:arrive_expect_tx(got) end
  for i = 0, 3 do view(own, l)[{t // 4, t % 4 * 4 + i}] = x[{t // 4, t % 4 * 4 + i}] end
  fence_proxy_async()
  sync_cluster()
  if cluster_rank() == 0 then
    if t == 0 then tma_store(own, got, full[0], 1) end
  else
    full[0]:wait(0)
    for i = 0, 3 do y[{t // 4, t % 4 * 4 + i}] = view(got, l)[{t // 4, t % 4 * 4 + i}] end
  end
  sync_cluster()
end)
local x, y = rand(f32, row_major{8, 16}), zeros(f32, row_major{8, 16})
tiles{grid = 2, block = 32, cluster = 2, check = true}(x, y)
print(allclose(x, y, {atol = 0, rtol = 0})) -- expect: true
