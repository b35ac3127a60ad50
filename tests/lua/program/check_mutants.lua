-- What scripts/mutate_sync.lua leaves out or weakens, each kind once: `check` finds it, or not, as said. And that program
-- says the same of two examples.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

-- Of each mutant of f's launches, in the order of lines, what is missing, and the first word of
-- what is found, "differs" or "nothing".
local function judged(f)
  local findings, _, ok, message = check.run(f, { mutants = true })
  local out = {}
  for i, m in ipairs(findings.mutants) do
    local text = m.text
    if m.launches == 0 then -- it orders other launches
      local found = check.run(f, { without = m })
      text = found[1] and found[1].message
    end
    out[i] = ("%s: %s"):format(m.what, text and text:match "^%a+"
      or m.is_needed and "differs" or "nothing")
  end
  return table.concat(out, "\n"), ok and #findings == 0 and "" or check.report(findings, 1)
    .. tostring(message)
end

local function is(name, want, f)
  local got, message = judged(f)
  tap.ok(got .. message == want, name, got, message)
end

-- {====== Kernels that are right: tests/check/right ======

local function right(name, want)
  is(name, want, assert(loadfile("tests/check/right/" .. name .. ".lua")))
end

right("missing_barrier", "sync_threads(): race")
right("missing_wait", "cp_async_wait(): cp\nsync_threads(): race")
right("cluster_not_begun", "the barrier of the cluster: other\nthe barrier of the cluster: other")
right("sync_grid_in_branch", "sync_grid(): race")
right("pdl_one_thread_waits", "grid_dependency_wait(): pdl\nsync_threads(): pdl")
right("tma_store_not_committed", "fence_proxy_async(): race\nsync_threads(): race\n"
  .. "tma_store_commit(): tma\ntma_store_wait(): tma")
right("tma_unaligned_start", "sync_threads(): nothing\nthe arrival at an mbarrier: deadlock\n"
  .. "the bytes that an mbarrier expects: race\nthe wait for an mbarrier: race")
right("wgmma_not_committed", "fence_proxy_async(): race\nsync_threads(): race\n"
  .. "wgmma_fence(): wgmma\nwgmma_commit(): wgmma\nwgmma_wait(): wgmma")
-- {====== What these do not have ======

is("named barriers", "arrive() of a named barrier: deadlock\nsync() of a named barrier: race",
  function()
    kernel("named", function(x, y)
      local t, full = threadIdx.x, named_barrier(1, 64)
      if t < 32 then
        x[t] = t
        full:arrive()
      else
        full:sync()
        y[t - 32] = x[63 - t]
      end
    end){grid = 1, block = 64}(zeros(i32, 32), zeros(i32, 32))
  end)

is("lanes of a warp", "sync_warp(): race", function()
  kernel("lanes", function(y)
    local s = shared(i32, 32)
    s[threadIdx.x] = threadIdx.x
    sync_warp()
    y[threadIdx.x] = s[31 - threadIdx.x]
  end){grid = 1, block = 32}(zeros(i32, 32))
end)

-- Sums go to tensor memory, one thread adds a product of zeros, and they come back.
is("tcgen05", "sync_threads(): acc\ntcgen05_before_thread_sync(): race\nfence_proxy_async(): race\n"
  .. "sync_threads(): race\ntcgen05_after_thread_sync(): race\ntcgen05_commit(): deadlock\n"
  .. "the wait for an mbarrier: race\ntcgen05_after_thread_sync(): race\nsync_threads(): acc",
  function()
  kernel("product", function(y)
    local s = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 32), {128, 16}))
    local acc, done = tmem(f32, {128, 128}), mbarrier(1, 1)
    for k in range(16) do s[{threadIdx.x, k}] = 0 end
    local st = tmem_copy("SM100_TMEM_STORE_32dp32b128x", acc):get_slice(threadIdx.x)
    local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b128x", acc):get_slice(threadIdx.x)
    local r = fragment_like(ld:partition_S(acc))
    clear(r)
    sync_threads()
    copy(st, r, st:partition_D(acc))
    tcgen05_before_thread_sync()
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      tcgen05_after_thread_sync()
      local mma = tiled_mma("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,128>")
      local thr = mma:get_slice(0)
      gemm(mma, thr:partition_A(s), thr:partition_B(s), thr:partition_C(acc))
      tcgen05_commit(done)
    end
    done:wait(0)
    tcgen05_after_thread_sync()
    copy(ld, ld:partition_S(acc), r)
    copy(r, ld:partition_D(tile(y, {128, 128}, {0, 0})))
    sync_threads()
    tmem_dealloc(acc)
  end){grid = 1, block = 128}(zeros(f32, row_major{128, 128}))
end)

-- Copies of two groups, of which the first is waited for.
is("groups of cp.async", "cp_async_commit(): cp\ncp_async_commit(): cp\ncp_async_wait(): cp\n"
  .. "sync_threads(): race", function()
  kernel("groups", function(x, y)
    local s, t = shared(f32, {64, 2}), threadIdx.x
    copy(parallelize(tile(x, 64, 0), layout(64), t), parallelize(s(_, 0), layout(64), t))
    cp_async_commit()
    copy(parallelize(tile(x, 64, 1), layout(64), t), parallelize(s(_, 1), layout(64), t))
    cp_async_commit()
    cp_async_wait(1)
    sync_threads()
    y[t] = s[{63 - t, 0}]
  end){grid = 1, block = 64}(rand(f32, 128), zeros(f32, 64))
end)

-- The acquire's fence and the release's, and halves of one operation.
is("releases and acquires", "the release of an atomic operation: race\n"
  .. "the acquire of an atomic operation: race", function()
  kernel("message", function(x, flag, y)
    if blockIdx.x == 0 then
      x[0] = 42
      atomic_store(flag, 0, 1)
    else
      while atomic_load(flag, 0) == 0 do end
      y[0] = x[0]
    end
  end){grid = 2, block = 1}(zeros(i32, 1), zeros(i32, 1), zeros(i32, 1))
end)

-- The message needs no seq_cst.
is("fences", "fence(): race\nthe order \"seq_cst\" of a fence: nothing\n"
  .. "the acquire of an atomic operation: race", function()
  kernel("message", function(x, flag, y)
    if blockIdx.x == 0 then
      x[0] = 42
      fence()
      atomic_store(flag, 0, 1, {order = "relaxed"})
    else
      while atomic_load(flag, 0) == 0 do end
      y[0] = x[0]
    end
  end){grid = 2, block = 1}(zeros(i32, 1), zeros(i32, 1), zeros(i32, 1))
end)

device "cpu:2"
is("scopes", "the release of an atomic operation: race\nthe scope \"sys\": race\n"
  .. "the acquire of an atomic operation: race\nthe scope \"sys\": race", function()
  local x, y, flag = zeros(i32, 1), zeros(i32, 1), zeros(i32, 1)
  local k = kernel("message", function(x, flag, y, me)
    if me == 0 then
      x[0] = 42
      atomic_store(flag, 0, 1, {scope = "sys"})
    else
      while atomic_load(flag, 0, {scope = "sys"}) == 0 do end
      y[0] = x[0]
    end
  end)
  mesh{ r = 2 }:run(function(r) k{grid = 1, block = 1}(x, flag, y, i32(r.rank)) end)
end)

-- {====== The program ======

local text, code = shell.cuttle("scripts/mutate_sync.lua --orders=0 boxes reduce")
tap.ok(code == 0 and text:find "# all: found 8, needless 2\n",
  "scripts/mutate_sync.lua", text)
tap.done()
