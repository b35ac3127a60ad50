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
tap.done()
