-- Litmus tests of PTX's memory model: what `check` says of each, and what the model says. A test that the model gives a
-- data race must have a finding; any other must have none.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local relaxed, acq_rel = { order = "relaxed" }, { order = "acq_rel" }

-- The findings of a launch of `blocks` blocks with 64 threads, which are two warps. The kernel takes as many of data,
-- results and flags as it needs.
local function run(blocks, f, config)
  local findings, _, ok, message = check.run(function()
    local k = kernel("litmus", f)
    k{ grid = blocks, block = 64, cooperative = config and config.cooperative,
       cluster = config and config.cluster }(
      table.unpack({ zeros(i32, 256), zeros(i32, 256), zeros(i32, 8) }, 1,
        debug.getinfo(f, "u").nparams))
  end)
  return findings, ok, message
end

local function verdict(name, expected, blocks, f, config)
  local findings, ok, message = run(blocks, f, config)
  local races = 0
  for _, finding in ipairs(findings) do
    races = races + (finding.kind:match "^race_" and 1 or 0)
  end
  local got = races > 0 and "race" or "ordered"
  tap.ok(ok and got == expected and races == #findings, name .. ": " .. expected,
    "got " .. got .. " " .. tostring(message), check.report(findings, 1))
end

-- {====== Message passing ======
-- One thread writes data, then a flag; another one waits for the flag and reads the data. Each way to write the flag
-- with each way to read it, between threads of two blocks, and of two warps through global and through shared memory.

local writes = { -- name, does it release the data?, how
  { "st.release", true, function(f) atomic_store(f, 0, 1) end },
  { "fence.sc; st.relaxed", true, function(f) fence() atomic_store(f, 0, 1, relaxed) end },
  { "fence.acq_rel; st.relaxed", true, function(f)
      fence(acq_rel)
      atomic_store(f, 0, 1, relaxed)
    end },
  { "fence.acq_rel; atom.relaxed", true, function(f)
      fence(acq_rel)
      atomic_add(f, 0, 1)
    end },
  { "atom.release", true, function(f) atomic_exch(f, 0, 1, { order = "release" }) end },
  { "st.release of another; st.relaxed", false, function(f)
      atomic_store(f, 1, 1)
      atomic_store(f, 0, 1, relaxed)
    end },
  { "st.release 0; st.relaxed 1", true, function(f)
      atomic_store(f, 0, 0)
      atomic_store(f, 0, 1, relaxed)
    end },
  { "st.relaxed", false, function(f) atomic_store(f, 0, 1, relaxed) end },
  { "atom.relaxed", false, function(f) atomic_add(f, 0, 1) end },
  { "st.relaxed; fence.sc", false, function(f) atomic_store(f, 0, 1, relaxed) fence() end },
}

local reads = {
  { "ld.acquire", true, function(f) while atomic_load(f, 0) == 0 do end end },
  { "ld.relaxed; fence.sc", true, function(f)
      while atomic_load(f, 0, relaxed) == 0 do end
      fence()
    end },
  { "ld.relaxed; fence.acq_rel", true, function(f)
      while atomic_load(f, 0, relaxed) == 0 do end
      fence(acq_rel)
    end },
  { "atom.acquire", true, function(f)
      while atomic_cas(f, 0, 1, 1, { order = "acquire" }) == 0 do end
    end },
  { "ld.relaxed; ld.acquire", true, function(f)
      while atomic_load(f, 0, relaxed) == 0 do end
      local again = atomic_load(f, 0)
      if again == 7 then atomic_store(f, 3, 1, relaxed) end
    end },
  { "ld.relaxed", false, function(f) while atomic_load(f, 0, relaxed) == 0 do end end },
  { "fence.sc; ld.relaxed", false, function(f)
      fence()
      while atomic_load(f, 0, relaxed) == 0 do end
    end },
  { "ld.relaxed; ld.acquire of another", false, function(f)
      while atomic_load(f, 0, relaxed) == 0 do end
      if atomic_load(f, 2) == 7 then atomic_store(f, 3, 1, relaxed) end
    end },
}

for _, w in ipairs(writes) do
  for _, r in ipairs(reads) do
    local write, read = w[3], r[3]
    local expected = w[2] and r[2] and "ordered" or "race"
    local name = ("%s || %s"):format(w[1], r[1])
    verdict("MP of blocks: " .. name, expected, 2, function(x, y, f)
      if threadIdx.x == 0 then
        if blockIdx.x == 0 then x[0] = 42 write(f) else read(f) y[0] = x[0] end
      end
    end)
    verdict("MP of warps: " .. name, expected, 1, function(x, y, f)
      if threadIdx.x == 32 then x[0] = 42 write(f) end
      if threadIdx.x == 0 then read(f) y[0] = x[0] end
    end)
    verdict("MP in shared memory: " .. name, expected, 1, function(_, y)
      local x, f = shared(i32, 1), shared(i32, 4)
      if threadIdx.x < 4 then f[threadIdx.x] = 0 end
      sync_threads()
      if threadIdx.x == 32 then x[0] = 42 write(f) end
      if threadIdx.x == 0 then read(f) y[0] = x[0] end
    end)
  end
end

-- {====== Whose accesses a flag hands on ======

local function wait_for(f, i) while atomic_load(f, i) == 0 do end end

-- All threads of block 0 write, one releases; one of block 1 acquires, all read. before, after: what stands between.
local function hand_on(before, after, reader)
  return function(x, y, f)
    local t = threadIdx.x
    if blockIdx.x == 0 then
      x[t] = t
      before()
      if t == 0 then atomic_store(f, 0, 1) end
    else
      if t == reader then wait_for(f, 0) end
      after()
      y[t] = x[t]
    end
  end
end
local function nothing() end
local function warp() sync_warp() end
local function block() sync_threads() end

verdict("a block hands on to a block", "ordered", 2, hand_on(block, block, 0))
verdict("the writers do not meet", "race", 2, hand_on(nothing, block, 0))
verdict("only the releasing warp meets", "race", 2, hand_on(warp, block, 0))
verdict("the readers do not meet", "race", 2, hand_on(block, nothing, 0))
verdict("only the acquiring warp meets", "race", 2, hand_on(block, warp, 0))
verdict("a thread of the other warp waits", "ordered", 2, hand_on(block, block, 33))

local function lanes(before, after)
  return function(x, y, f)
    local t = threadIdx.x
    if t < 32 then
      if blockIdx.x == 0 then
        x[t] = t
        before()
        if t == 0 then atomic_store(f, 0, 1) end
      else
        if t == 0 then wait_for(f, 0) end
        after()
        y[t] = x[t]
      end
    end
  end
end
verdict("a warp hands on to a warp", "ordered", 2, lanes(warp, warp))
verdict("the writing lanes do not meet", "race", 2, lanes(nothing, warp))
verdict("the reading lanes do not meet", "race", 2, lanes(warp, nothing))
verdict("each lane hands on its own", "ordered", 2, function(x, y, f)
  local t = threadIdx.x
  if t < 8 then
    if blockIdx.x == 0 then
      x[t] = t
      atomic_store(f, t, 1)
    else
      wait_for(f, t)
      y[t] = x[t]
    end
  end
end)
verdict("each lane hands on its own, and reads its neighbour's", "race", 2, function(x, y, f)
  local t = threadIdx.x
  if t < 8 then
    if blockIdx.x == 0 then
      x[t] = t
      atomic_store(f, t, 1)
    else
      wait_for(f, t)
      y[t] = x[7 - t]
    end
  end
end)
verdict("a fence of another thread", "race", 2, function(x, y, f)
  local t = threadIdx.x
  if blockIdx.x == 0 then
    x[t] = t
    if t ~= 0 then fence() end
    sync_threads()
    if t == 0 then atomic_store(f, 0, 1, relaxed) end
  else
    if t == 0 then wait_for(f, 0) end
    sync_threads()
    y[t] = x[t]
  end
end)
verdict("what comes after the release", "race", 2, function(x, y, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      atomic_store(f, 0, 1)
      x[0] = 1
    else
      wait_for(f, 0)
      y[0] = x[0]
    end
  end
end)
verdict("what comes between a fence and its store", "race", 2, function(x, y, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      fence()
      x[0] = 1
      atomic_store(f, 0, 1, relaxed)
    else
      wait_for(f, 0)
      y[0] = x[0]
    end
  end
end)
verdict("what comes before the acquire", "race", 2, function(x, y, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      x[0] = 1
      atomic_store(f, 0, 1)
    else
      y[0] = x[0]
      wait_for(f, 0)
    end
  end
end)

-- {====== Chains ======

-- WRC and ISA2: block 0 writes, block 1 hands on, block 2 reads. How block 1 waits, and how it tells.
local function chain(wait, tell)
  return function(x, y, f)
    if threadIdx.x == 0 then
      if blockIdx.x == 0 then
        x[0] = 42
        atomic_store(f, 0, 1)
      elseif blockIdx.x == 1 then
        wait(f)
        tell(f)
      else
        wait_for(f, 1)
        y[0] = x[0]
      end
    end
  end
end
local function wait_0(f) wait_for(f, 0) end
local function wait_relaxed(f) while atomic_load(f, 0, relaxed) == 0 do end end
verdict("ISA2", "ordered", 3, chain(wait_0, function(f) atomic_store(f, 1, 1) end))
verdict("ISA2, the middle does not acquire", "race", 3,
  chain(wait_relaxed, function(f) atomic_store(f, 1, 1) end))
verdict("ISA2, the middle does not release", "race", 3,
  chain(wait_0, function(f) atomic_store(f, 1, 1, relaxed) end))
verdict("ISA2, the middle has one fence for both", "ordered", 3,
  chain(wait_relaxed, function(f) fence() atomic_store(f, 1, 1, relaxed) end))
verdict("ISA2, the middle acquires after its fence", "race", 3,
  chain(function(f) fence() wait_for(f, 0) end,
    function(f) atomic_store(f, 1, 1, relaxed) end))

-- What block 1 does to the flag of block 0, which block 2 then reads.
local function through(change)
  return function(x, y, f)
    if threadIdx.x == 0 then
      if blockIdx.x == 0 then
        x[0] = 42
        atomic_store(f, 0, 1)
      elseif blockIdx.x == 1 then
        while atomic_load(f, 0, relaxed) ~= 1 do end
        change(f)
      else
        while atomic_load(f, 0, relaxed) ~= 2 do end
        y[1] = atomic_load(f, 0)
        y[0] = x[0]
      end
    end
  end
end
verdict("release sequence: atom.relaxed", "ordered", 3,
  through(function(f) atomic_add(f, 0, 1) end))
verdict("release sequence: cas.relaxed", "ordered", 3,
  through(function(f) atomic_cas(f, 0, 1, 2) end))
verdict("a store ends it", "race", 3, through(function(f) atomic_store(f, 0, 2, relaxed) end))
verdict("a store that releases hands on what its thread knows", "race", 3,
  through(function(f) atomic_store(f, 0, 2) end))

verdict("counters: all who released are known", "ordered", 4, function(x, y, f)
  if threadIdx.x == 0 then
    x[blockIdx.x] = 1
    if atomic_add(f, 0, 1, { order = "acq_rel" }) == 3 then
      y[0] = x[0] + x[1] + x[2] + x[3]
      f[0] = 0
    end
  end
end)
verdict("counters that do not release", "race", 4, function(x, y, f)
  if threadIdx.x == 0 then
    x[blockIdx.x] = 1
    if atomic_add(f, 0, 1, { order = "acquire" }) == 3 then
      y[0] = x[0] + x[1] + x[2] + x[3]
    end
  end
end)
verdict("counters that do not acquire", "race", 4, function(x, y, f)
  if threadIdx.x == 0 then
    x[blockIdx.x] = 1
    if atomic_add(f, 0, 1, { order = "release" }) == 3 then
      y[0] = x[0] + x[1] + x[2] + x[3]
    end
  end
end)

-- {====== Atomics only: SB, LB, IRIW, CoRR ======
-- Whatever they read, they do not race.

verdict("SB of atomics", "ordered", 2, function(_, y, f)
  if threadIdx.x == 0 then
    atomic_store(f, blockIdx.x, 1, relaxed)
    y[blockIdx.x] = atomic_load(f, 1 - blockIdx.x, relaxed)
  end
end)
verdict("SB of plain accesses", "race", 2, function(x, y)
  if threadIdx.x == 0 then
    x[blockIdx.x] = 1
    y[blockIdx.x] = x[1 - blockIdx.x]
  end
end)
verdict("SB of plain accesses with fences", "race", 2, function(x, y)
  if threadIdx.x == 0 then
    x[blockIdx.x] = 1
    fence()
    y[blockIdx.x] = x[1 - blockIdx.x]
  end
end)
verdict("SB of plain and atomic accesses", "race", 2, function(_, y, f)
  if threadIdx.x == 0 then
    f[blockIdx.x] = 1
    fence()
    y[blockIdx.x] = atomic_load(f, 1 - blockIdx.x, relaxed)
  end
end)
verdict("LB of atomics", "ordered", 2, function(_, y, f)
  if threadIdx.x == 0 then
    y[blockIdx.x] = atomic_load(f, 1 - blockIdx.x, relaxed)
    atomic_store(f, blockIdx.x, 1, relaxed)
  end
end)
verdict("LB of plain accesses", "race", 2, function(x, y)
  if threadIdx.x == 0 then
    y[blockIdx.x] = x[1 - blockIdx.x]
    x[blockIdx.x] = 1
  end
end)
local function iriw(read, between)
  return function(_, y, f)
    if threadIdx.x == 0 then
      local b = blockIdx.x
      if b < 2 then
        atomic_store(f, b, 1, relaxed)
      else
        y[2 * b] = read(f, b - 2)
        between()
        y[2 * b + 1] = read(f, 3 - b)
      end
    end
  end
end
verdict("IRIW of ld.relaxed", "ordered", 4,
  iriw(function(f, i) return atomic_load(f, i, relaxed) end, nothing))
verdict("IRIW of ld.acquire", "ordered", 4,
  iriw(function(f, i) return atomic_load(f, i) end, nothing))
verdict("IRIW with fence.sc", "ordered", 4,
  iriw(function(f, i) return atomic_load(f, i, relaxed) end, function() fence() end))
verdict("IRIW of plain reads", "race", 4, iriw(function(f, i) return f[i] end, nothing))
verdict("IRIW: plain data of two writers", "ordered", 4, function(x, y, f)
  if threadIdx.x == 0 then
    local b = blockIdx.x
    if b < 2 then
      x[b] = 1
      atomic_store(f, b, 1)
    else
      wait_for(f, b - 2)
      wait_for(f, 3 - b)
      y[b] = x[0] + x[1]
    end
  end
end)
verdict("IRIW: plain data of a writer that is not waited for", "race", 4, function(x, y, f)
  if threadIdx.x == 0 then
    local b = blockIdx.x
    if b < 2 then
      x[b] = 1
      atomic_store(f, b, 1)
    else
      wait_for(f, b - 2)
      y[b] = x[0] + x[1]
    end
  end
end)
verdict("CoRR of atomics", "ordered", 2, function(_, y, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      atomic_store(f, 0, 1, relaxed)
    else
      y[0], y[1] = atomic_load(f, 0, relaxed), atomic_load(f, 0, relaxed)
    end
  end
end)

-- {====== Plain accesses of a flag ======

verdict("a flag that was read may be written", "ordered", 2, function(_, _, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      atomic_store(f, 0, 1)
    else
      while atomic_load(f, 0, relaxed) == 0 do end
      f[0] = 0
    end
  end
end)
verdict("a flag that another one writes again may not", "race", 2, function(_, _, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      atomic_store(f, 0, 1)
      atomic_store(f, 0, 2)
    else
      f[0] = 0
    end
  end
end)
verdict("plain read of a flag", "race", 2, function(_, y, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then atomic_store(f, 0, 1) else y[0] = f[0] end
  end
end)
verdict("plain write, then a release; then an atomic", "ordered", 2, function(_, _, f)
  if threadIdx.x == 0 then
    if blockIdx.x == 0 then
      f[1] = 5
      atomic_store(f, 0, 1)
    else
      wait_for(f, 0)
      atomic_add(f, 1, 1)
    end
  end
end)

-- {====== Barriers hand on what their threads know ======

-- A thread of warp 0 learns of block 0; warp 1 reads after `sync`.
local function by_barrier(sync)
  return function(x, y, f)
    local t = threadIdx.x
    local bar = mbarrier(1, 1)
    sync_threads()
    if blockIdx.x == 0 then
      if t == 0 then
        x[0] = 42
        atomic_store(f, 0, 1)
      end
    else
      if t == 0 then wait_for(f, 0) end
      sync(t, bar)
      if t >= 32 then y[t] = x[0] end
    end
  end
end
verdict("sync_threads hands on", "ordered", 2, by_barrier(function() sync_threads() end))
verdict("a named barrier hands on", "ordered", 2,
  by_barrier(function() named_barrier(1, 64):sync() end))
verdict("arriving at a named barrier hands on", "ordered", 2, by_barrier(function(t)
  local b = named_barrier(1, 64)
  if t < 32 then sync_warp() b:arrive() else b:sync() end
end))
verdict("a named barrier of the warp does not", "race", 2,
  by_barrier(function(t) named_barrier(1 + t // 32, 32):sync() end))
verdict("an mbarrier hands on", "ordered", 2, by_barrier(function(t, bar)
  if t == 0 then bar[0]:arrive() end
  if t >= 32 then bar[0]:wait(0) end
end))
verdict("an mbarrier at which another lane arrives does not", "race", 2, by_barrier(function(t, bar)
  if t == 1 then bar[0]:arrive() end
  if t >= 32 then bar[0]:wait(0) end
end))
-- Lanes of warp 0 write, and one of them arrives; warp 1 reads.
local function arriving(before)
  return function(y)
    local t = threadIdx.x
    local s, bar = shared(i32, 32), mbarrier(1, 1)
    sync_threads()
    if t < 32 then
      s[t] = t
      before()
      if t == 5 then bar[0]:arrive() end
    else
      bar[0]:wait(0)
      y[t] = s[63 - t]
    end
  end
end
verdict("lanes meet before one arrives at an mbarrier", "ordered", 1, arriving(warp))
verdict("lanes do not meet before one arrives at an mbarrier", "race", 1, arriving(nothing))
-- Warp 0 writes and arrives; one lane of warp 1 waits, and all read.
local function waiting(after)
  return function(y)
    local t = threadIdx.x
    local s, bar = shared(i32, 32), mbarrier(1, 32)
    sync_threads()
    if t < 32 then
      s[t] = t
      bar[0]:arrive()
    else
      if t == 40 then bar[0]:wait(0) end
      after()
      y[t] = s[63 - t]
    end
  end
end
verdict("one lane waits at an mbarrier and meets the others", "ordered", 1, waiting(warp))
verdict("one lane waits at an mbarrier and does not meet the others", "race", 1, waiting(nothing))
verdict("a lane that waited hands on to a third warp", "ordered", 1, function(y)
  local t = threadIdx.x
  local s, bar = shared(i32, 1), mbarrier(2, 1)
  sync_threads()
  if t == 0 then
    s[0] = 42
    bar[0]:arrive()
  elseif t == 40 then
    bar[0]:wait(0)
    bar[1]:arrive()
  elseif t == 20 then
    bar[1]:wait(0)
    y[t] = s[0]
  end
end)
verdict("one lane writes and arrives at an mbarrier", "ordered", 1, function(y)
  local t = threadIdx.x
  local s, bar = shared(i32, 1), mbarrier(1, 1)
  sync_threads()
  if t == 5 then
    s[0] = 42
    bar[0]:arrive()
  elseif t >= 32 then
    bar[0]:wait(0)
    y[t] = s[0]
  end
end)
verdict("sync_grid orders blocks", "ordered", 2, function(x, y)
  x[blockIdx.x * 64 + threadIdx.x] = 1
  sync_grid()
  y[blockIdx.x * 64 + threadIdx.x] = x[(1 - blockIdx.x) * 64 + 63 - threadIdx.x]
end, { cooperative = true })
verdict("sync_grid does not order what follows", "race", 2, function(x, y)
  x[blockIdx.x * 64 + threadIdx.x] = 1
  sync_grid()
  y[blockIdx.x * 64 + threadIdx.x] = x[(1 - blockIdx.x) * 64 + 63 - threadIdx.x]
  x[blockIdx.x * 64 + threadIdx.x] = 2
end, { cooperative = true })
tap.done()
