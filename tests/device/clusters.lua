-- What blocks of a cluster send each other by tma_store, in many turns, by its bits. On a device:
--   CUTTLE_DEVICE=cuda cuttle tests/device/clusters.lua
local SIZE <const>, N <const>, TURNS <const> = 4, 128, 200

-- Thread i of each block sends row i of its memory to row `rank` of block (rank + i) % SIZE.
local function exchange(dtype)
  return kernel("exchange", function(x, y)
    local own, got = shared(dtype, {N, SIZE}), shared(dtype, {N, SIZE})
    local full, empty = mbarrier(1, 1), mbarrier(1, SIZE)
    local rank, t = cluster_rank(), threadIdx.x
    if t == 0 then full[0]:arrive_expect_tx(got) end
    sync_cluster()
    for turn in range(TURNS) do
      for i = 0, SIZE - 1 do own[{t, i}] = x[{t, i, rank}] + cast(turn, dtype) end
      fence_proxy_async()
      sync_threads()
      if t < SIZE then tma_store(own(_, t), got(_, rank), full[0], (rank + t) % SIZE) end
      full[0]:wait(turn % 2)
      for i = 0, SIZE - 1 do y[{t, i, rank, turn}] = got[{t, i}] end
      sync_threads()
      if t == 0 then full[0]:arrive_expect_tx(got) end
      sync_threads()
      if t < SIZE then empty[0]:arrive(t) end
      empty[0]:wait(turn % 2)
    end
    sync_cluster()
  end)
end

-- The value of element (t, from) of block `rank`; x counts from 0 on.
local function wanted(t, from, rank, turn)
  return t + N * ((rank - from) % SIZE + SIZE * from) + turn
end

for _, dtype in ipairs{f32, i32, i64} do
  local x = zeros(dtype, {N, SIZE, SIZE}):to "cpu"
  local y = zeros(dtype, {N, SIZE, SIZE, TURNS})
  for i = 0, size(x) - 1 do x[i] = i end
  exchange(dtype){grid = SIZE, block = N, cluster = SIZE}(x:to(y.device), y)
  y = y:to "cpu"
  local n_wrong = 0
  for i = 0, size(y) - 1 do
    local t, from, rank = i % N, i // N % SIZE, i // (N * SIZE) % SIZE
    if y[i] ~= wanted(t, from, rank, i // (N * SIZE * SIZE)) then n_wrong = n_wrong + 1 end
  end
  print(dtype, ("%d wrong of %d"):format(n_wrong, size(y)))
  assert(n_wrong == 0)
end
