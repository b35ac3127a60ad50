-- st_async: stores to other blocks of a cluster that complete on an mbarrier there, for elements of
-- 32 and 64 bits, layouts and ranks of each thread; nothing is found in them.
-- needs sm_90
local SIZE <const> = 4

-- Each block sends element i to place {its rank, i} of block (rank + i) % SIZE.
local function sent(dtype, layout)
  local k = kernel("sent", function(x, y)
    local slots, full = shared(dtype, layout), mbarrier(2, 1)
    local rank, t = cluster_rank(), threadIdx.x
    sync_cluster()
    if t < SIZE then st_async(slots, {rank, t}, x[{rank, t}], full[1], (rank + t) % SIZE) end
    if t == 0 then full[1]:arrive_expect_tx(SIZE * dtype.bytes) end
    full[1]:wait(0)
    if t < SIZE then y[{rank, t}] = slots[{t, (rank - t + SIZE) % SIZE}] end
  end)
  local x, y = tensor(dtype, row_major{SIZE, SIZE}), zeros(dtype, row_major{SIZE, SIZE})
  for i = 0, SIZE - 1 do
    for j = 0, SIZE - 1 do x[{i, j}] = 10 * i + j + 1 end
  end
  k{grid = SIZE, block = 32, cluster = SIZE, check = true}(x, y)
  for i = 0, SIZE - 1 do
    for j = 0, SIZE - 1 do
      local want = 10 * j + (i - j + SIZE) % SIZE + 1
      if y[{i, j}] ~= want then return ("%d,%d: %s, not %s"):format(i, j, y[{i, j}], want) end
    end
  end
  return true
end

for _, dtype in ipairs{f32, i32, u32, f64, i64, u64} do
  print(dtype, sent(dtype, {SIZE, SIZE}), sent(dtype, row_major{SIZE, SIZE}))
end
-- expect: f32	true	true
-- expect: i32	true	true
-- expect: u32	true	true
-- expect: f64	true	true
-- expect: i64	true	true
-- expect: u64	true	true
print(sent(f32, composition(swizzle(1, 0, 2), layout{SIZE, SIZE}))) -- expect: true

-- The bytes of a phase may come before the phase is awaited, and of several threads.
local k = kernel("gathered", function(y)
  local slots, full = shared(i32, 64), mbarrier(1, 1)
  sync_cluster()
  st_async(slots, 32 * cluster_rank() + threadIdx.x, 100 * cluster_rank() + threadIdx.x, full[0], 0)
  if cluster_rank() == 0 then
    if threadIdx.x == 0 then full[0]:arrive_expect_tx(256) end
    full[0]:wait(0)
    y[threadIdx.x] = slots[threadIdx.x] + slots[threadIdx.x + 32]
  end
  sync_cluster()
end)
local y = zeros(i32, 32)
k{grid = 2, block = 32, cluster = 2, check = true}(y)
print(y[0], y[31]) -- expect: 100	162
