-- A warp writes shared memory, and one of its lanes tells another warp, whose TMA or wgmma reads there: `check` wants a
-- proxy fence in between, by a thread that knows of the write. Who tells it how, and who fences where.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local mma = tiled_mma("SM90_64x8x16_F32F16F16_SS")

-- tell(full, flag) is called by one lane, wait(full, flag) by all that read.
local ways = {
  arrival = {
    tell = function(full) full[0]:arrive() end,
    wait = function(full) full[0]:wait(0) end,
  },
  flag = {
    tell = function(_, flag) atomic_store(flag, 0, 1) end,
    wait = function(_, flag) while atomic_load(flag, 0) == 0 do end end,
  },
}

-- Warp 0 writes, warps 4 to 7 read. fence: who calls it, and where.
local function kernel_of(way, agent, fence)
  local function fence_at(place)
    if fence == place then fence_proxy_async() end
  end
  return kernel("handed_on", function(A, B, C)
    local sA = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {64, 16}))
    local sB = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {8, 16}))
    local loaded, full, flag = mbarrier(1, 1), mbarrier(1, 1), shared(i32, 1)
    local t = threadIdx.x
    if t == 0 then flag[0] = 0 end
    sync_threads()
    if t < 32 then
      if t == 0 then
        loaded[0]:arrive_expect_tx(64 * 16 * 2)
        tma_load(tma_tensor(A), sA, loaded[0])
      end
      fence_at "before the write"
      for j in range(4) do sB[{t % 8, j * 4 + t // 8}] = 1 end
      fence_at "by the writers"
      if t == 0 then fence_at "by one writer, before it knows of the others" end
      sync_warp()
      if t == 0 then
        fence_at "by the lane that tells it"
        way.tell(full, flag)
        fence_at "by the lane that has told it"
      end
      fence_at "by the writers, after one has told it"
    elseif t < 64 then
      way.wait(full, flag)
      fence_at "by a warp that does not read"
    elseif t >= 128 then
      loaded[0]:wait(0)
      fence_at "by the readers, before they know"
      way.wait(full, flag)
      fence_at "by the readers"
      if agent == "wgmma" then
        local thr = mma:get_slice(t - 128)
        local rC = thr:partition_fragment_C(C)
        wgmma_fence()
        gemm(mma, thr:partition_A(sA), thr:partition_B(sB), rC, {accumulate = false})
        wgmma_commit()
        wgmma_wait(0)
        copy(rC, thr:partition_C(C))
      elseif t == 128 then
        tma_store(sB, tma_tensor(B))
        tma_store_commit()
        tma_store_wait(0)
      end
    end
  end, {static_shapes = true})
end

local verdicts = {
  { "nowhere", "race" }, { "before the write", "race" }, { "by the writers", "clean" },
  { "by the lane that tells it", "clean" }, { "by the readers", "clean" },
  { "by the readers, before they know", "race" },
  { "by one writer, before it knows of the others", "race" },
  { "by the lane that has told it", "race" }, { "by the writers, after one has told it", "race" },
  { "by a warp that does not read", "race" },
}

for _, agent in ipairs { "wgmma", "tma_store" } do
  for _, how in ipairs { "arrival", "flag" } do
    for _, row in ipairs(verdicts) do
      local findings, _, ok, message = check.run(function()
        kernel_of(ways[how], agent, row[1]){grid = 1, block = 256}(rand(f16, row_major{64, 16}),
          zeros(f16, row_major{8, 16}), zeros(f32, {64, 8}))
      end)
      local got = #findings == 0 and "clean" or findings[1].kind:match "^race" or findings[1].kind
      tap.ok(ok and got == row[2], ("%s, %s, fence %s: %s"):format(agent, how, row[1], row[2]),
        message, check.report(findings, 1))
    end
  end
end

-- Right ways to tell it, by lanes that act without their warp. Threads 0 to 31 have written; the two
-- mbarriers have one arrival each, and store() reads by TMA what was written.
local right = {
  ["halves of the writers fence apart"] = function(t, full, _, store)
    if t < 16 then fence_proxy_async() elseif t < 32 then fence_proxy_async() end
    if t < 32 then sync_warp() end
    if t == 0 then full[0]:arrive() end
    if t == 40 then full[0]:wait(0) store() end
  end,
  ["another lane of the writers fences"] = function(t, full, _, store)
    if t < 32 then
      sync_warp()
      if t == 3 then fence_proxy_async() end
      sync_warp()
      if t == 0 then full[0]:arrive() end
    end
    if t == 40 then full[0]:wait(0) store() end
  end,
  ["a lane waits, another fences, a third reads"] = function(t, full, _, store)
    if t < 32 then sync_warp() end
    if t == 0 then full[0]:arrive() end
    if t >= 32 then
      if t == 40 then full[0]:wait(0) end
      sync_warp()
      if t == 41 then fence_proxy_async() end
      sync_warp()
      if t == 42 then store() end
    end
  end,
  ["a lane between writers and readers fences"] = function(t, full, told, store)
    if t < 32 then sync_warp() end
    if t == 0 then full[0]:arrive() end
    if t == 35 then
      full[0]:wait(0)
      fence_proxy_async()
      told[0]:arrive()
    elseif t == 0 then
      told[0]:wait(0)
      store()
    end
  end,
  ["another thread fences between two barriers"] = function(t, _, _, store)
    sync_threads()
    if t == 50 then fence_proxy_async() end
    sync_threads()
    if t == 7 then store() end
  end,
}
for name, body in pairs(right) do
  local k = kernel("right", function(x, y)
    local s, full, told, t = shared(f32, 32), mbarrier(1, 1), mbarrier(1, 1), threadIdx.x
    sync_threads()
    if t < 32 then s[t] = x[t] end
    body(t, full, told, function()
      tma_store(s, tile(tma_tensor(y), {32}, {0}))
      tma_store_commit()
      tma_store_wait(0)
    end)
  end)
  local findings, _, ok, message = check.run(function()
    k{grid = 1, block = 64}(rand(f32, 32), zeros(f32, 32))
  end)
  tap.ok(ok and #findings == 0, name, message, check.report(findings, 1))
end
tap.done()
