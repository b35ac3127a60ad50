-- Twenty classic programs that synchronise by flags, locks and queues: right results, and `check` finds nothing in them.
-- Each has faults, one change each, that it finds.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local relaxed = { order = "relaxed" }
local release, acquire = { order = "release" }, { order = "acquire" }

local function sum_of(t)
  local sum = 0
  for i = 0, size(t) - 1 do sum = sum + t[i] end
  return sum
end

-- make(o): the kernel, whose parts are those of `parts`. Each fault replaces one of them.
local function program(name, config, parts, faults, make, arguments, verify)
  local function launch(o)
    local tensors = arguments()
    local findings, _, ok, message = check.run(function()
      kernel("k", make(o)){ grid = config.grid or 1, block = config.block or 32,
        cooperative = config.cooperative }(table.unpack(tensors))
    end)
    return findings, ok, message, tensors
  end
  local findings, ok, message, tensors = launch(parts)
  tap.ok(ok and #findings == 0 and verify(table.unpack(tensors)), name, tostring(message),
    check.report(findings, 1))
  local names = {}
  for part in pairs(faults) do names[#names + 1] = part end
  table.sort(names)
  for _, part in ipairs(names) do
    local o = {}
    for k, v in pairs(parts) do o[k] = v end
    o[part] = faults[part]
    findings, ok, message = launch(o)
    local races = 0
    for _, f in ipairs(findings) do races = races + (f.kind:match "^race_" and 1 or 0) end
    tap.ok(ok and races > 0, ("%s, fault in %s"):format(name, part), tostring(message))
  end
end

local function nothing() end
local function block() sync_threads() end
local function a_fence() fence() end

-- {====== Locks ======

-- want, turn, total
program("Dekker with fences", { grid = 2, cooperative = true },
  { enter = a_fence, leave = release }, { enter = nothing, leave = relaxed },
  function(o)
    return function(want, turn, total)
      if threadIdx.x == 0 then
        local me, other = blockIdx.x, 1 - blockIdx.x
        for _ in range(3) do
          atomic_store(want, me, 1, relaxed)
          fence()
          while atomic_load(want, other, relaxed) ~= 0 do
            if atomic_load(turn, 0, relaxed) ~= me then
              atomic_store(want, me, 0, relaxed)
              while atomic_load(turn, 0, relaxed) ~= me do end
              atomic_store(want, me, 1, relaxed)
              fence()
            end
          end
          o.enter()
          total[0] = total[0] + 1
          atomic_store(turn, 0, other, relaxed)
          atomic_store(want, me, 0, o.leave)
        end
      end
    end
  end, function() return { zeros(i32, 2), zeros(i32, 1), zeros(i32, 1) } end,
  function(_, _, total) return total[0] == 6 end)

program("Peterson with fences", { grid = 2, cooperative = true },
  { enter = a_fence, leave = release }, { enter = nothing, leave = relaxed },
  function(o)
    return function(want, turn, total)
      if threadIdx.x == 0 then
        local me, other = blockIdx.x, 1 - blockIdx.x
        for _ in range(3) do
          atomic_store(want, me, 1, relaxed)
          atomic_exch(turn, 0, other)
          fence()
          while atomic_load(want, other, relaxed) ~= 0
            and atomic_load(turn, 0, relaxed) == other do end
          o.enter()
          total[0] = total[0] + 1
          atomic_store(want, me, 0, o.leave)
        end
      end
    end
  end, function() return { zeros(i32, 2), zeros(i32, 1), zeros(i32, 1) } end,
  function(_, _, total) return total[0] == 6 end)

program("a spin lock", { grid = 4 }, { take = acquire, give = release },
  { take = relaxed, give = relaxed },
  function(o)
    return function(lock, total)
      if threadIdx.x == 0 then
        while atomic_cas(lock, 0, 0, 1, o.take) ~= 0 do end
        total[0] = total[0] + blockIdx.x
        atomic_store(lock, 0, 0, o.give)
      end
    end
  end, function() return { zeros(i32, 1), zeros(i32, 1) } end,
  function(_, total) return total[0] == 6 end)

program("a ticket lock", { grid = 4 }, { wait = acquire, give = release },
  { wait = relaxed, give = relaxed },
  function(o)
    return function(lock, total)
      if threadIdx.x == 0 then
        local mine = atomic_add(lock, 0, 1)
        while atomic_load(lock, 1, o.wait) ~= mine do end
        total[0] = total[0] + 1
        atomic_store(lock, 1, mine + 1, o.give)
      end
    end
  end, function() return { zeros(i32, 2), zeros(i32, 1) } end,
  function(_, total) return total[0] == 4 end)

-- Readers count up, the writer takes -1.
program("a lock of readers and writers", { grid = 4 },
  { read = acquire, done = release, write = acquire, give = release },
  { read = relaxed, done = relaxed, write = relaxed, give = relaxed },
  function(o)
    return function(lock, data, out)
      if threadIdx.x == 0 then
        if blockIdx.x % 2 == 0 then
          while atomic_cas(lock, 0, 0, -1, o.write) ~= 0 do end
          data[0] = data[0] + 1
          atomic_store(lock, 0, 0, o.give)
        else
          local seen = atomic_load(lock, 0, relaxed)
          while seen < 0 or atomic_cas(lock, 0, seen, seen + 1, o.read) ~= seen do
            seen = atomic_load(lock, 0, relaxed)
          end
          out[blockIdx.x] = data[0]
          atomic_add(lock, 0, -1, o.done)
        end
      end
    end
  end, function() return { zeros(i32, 1), zeros(i32, 1), zeros(i32, 4) } end,
  function(_, data) return data[0] == 2 end)

program("something that is set up once", { grid = 4 }, { tell = release, wait = acquire },
  { tell = relaxed, wait = relaxed },
  function(o)
    return function(state, data, out)
      if threadIdx.x == 0 then
        if atomic_cas(state, 0, 0, 1) == 0 then
          data[0] = 42
          atomic_store(state, 0, 2, o.tell)
        end
        while atomic_load(state, 0, o.wait) ~= 2 do end
        out[blockIdx.x] = data[0]
      end
    end
  end, function() return { zeros(i32, 1), zeros(i32, 1), zeros(i32, 4) } end,
  function(_, _, out) return sum_of(out) == 168 end)

-- {====== Data without locks ======

-- The reader's data must be atomic, too: it reads what may be written. The writer goes on when somebody begins to read.
program("a seqlock", { grid = 3, cooperative = true },
  { read = function(t, i) return atomic_load(t, i, relaxed) end,
    write = function(t, i, v) atomic_store(t, i, v, relaxed) end },
  { read = function(t, i) return t[i] end, write = function(t, i, v) t[i] = v end },
  function(o)
    return function(seq, data, out)
      if threadIdx.x == 0 then
        if blockIdx.x == 0 then
          for i in range(1, 4) do
            atomic_store(seq, 0, 2 * i - 1, relaxed)
            fence()
            o.write(data, 0, i)
            o.write(data, 1, 10 * i)
            atomic_store(seq, 0, 2 * i)
            while atomic_load(seq, 1, relaxed) < i do end
          end
        else
          for _ in range(2) do
            local before, after, a, b = 1, 0, 0, 0
            atomic_add(seq, 1, 1)
            while before % 2 ~= 0 or before ~= after do
              before = atomic_load(seq, 0)
              a, b = o.read(data, 0), o.read(data, 1)
              fence()
              after = atomic_load(seq, 0, relaxed)
            end
            out[blockIdx.x] = b - 10 * a
          end
        end
      end
    end
  end, function() return { zeros(i32, 2), zeros(i32, 2), zeros(i32, 3) } end,
  function(_, _, out) return sum_of(out) == 0 end)

-- Nodes are not used again, so nothing can be popped twice.
program("a Treiber stack", { grid = 4 }, { push = release, pop = acquire },
  { push = relaxed, pop = relaxed },
  function(o)
    return function(head, next_of, value, out)
      if threadIdx.x == 0 then
        for i in range(2) do
          local mine, is_done = 2 * blockIdx.x + i, false
          if blockIdx.x < 2 then
            value[mine] = 10 + mine
            local top = atomic_load(head, 0, relaxed)
            while not is_done do
              atomic_store(next_of, mine, top, relaxed)
              local seen = atomic_cas(head, 0, top, mine + 1, o.push)
              is_done = seen == top
              top = seen
            end
          else
            local node = 0
            while not is_done do
              node = atomic_load(head, 0, o.pop)
              is_done = node ~= 0
                and atomic_cas(head, 0, node, atomic_load(next_of, node - 1, relaxed)) == node
            end
            out[node - 1] = value[node - 1]
          end
        end
      end
    end
  end, function() return { zeros(i32, 1), zeros(i32, 4), zeros(i32, 4), zeros(i32, 4) } end,
  function(_, _, _, out) return sum_of(out) == 46 end)

program("a table of keys", { grid = 4 }, { tell = release, wait = acquire },
  { tell = relaxed, wait = relaxed },
  function(o)
    return function(keys, full, values, out)
      if threadIdx.x == 0 then
        local key, at = blockIdx.x // 2 + 1, 0
        local seen = atomic_cas(keys, at, 0, key)
        while seen ~= 0 and seen ~= key do
          at = at + 1
          seen = atomic_cas(keys, at, 0, key)
        end
        if seen == 0 then
          values[at] = 100 * key
          atomic_store(full, at, 1, o.tell)
        end
        while atomic_load(full, at, o.wait) == 0 do end
        out[blockIdx.x] = values[at]
      end
    end
  end, function() return { zeros(i32, 4), zeros(i32, 4), zeros(i32, 4), zeros(i32, 4) } end,
  function(_, _, _, out) return sum_of(out) == 600 end)

program("a new version that is published", { grid = 3 }, { tell = release, read = acquire },
  { tell = relaxed, read = relaxed },
  function(o)
    return function(current, versions, out)
      local t = threadIdx.x
      if blockIdx.x == 0 then
        if t == 0 then
          for v in range(1, 3) do
            versions[2 * v], versions[2 * v + 1] = v, -v
            atomic_store(current, 0, v, o.tell)
          end
        end
      elseif t == 0 then
        while atomic_load(current, 0, o.read) == 0 do end
        local v = atomic_load(current, 0, o.read)
        out[blockIdx.x] = versions[2 * v] + versions[2 * v + 1]
      end
    end
  end, function() return { zeros(i32, 1), full(i32, 8, 7), full(i32, 3, 5) } end,
  function(_, _, out) return out[1] == 0 and out[2] == 0 end)

-- {====== Queues ======

program("a work queue", { grid = 3, block = 64 },
  { put = block, tell = release, take = block },
  { put = nothing, tell = relaxed, take = nothing },
  function(o)
    return function(head, ready, items, out)
      local t = threadIdx.x
      local mine = shared(i32, 1)
      if blockIdx.x == 0 then
        for i in range(4) do
          items[i * 64 + t] = i + 1
          o.put()
          if t == 0 then atomic_store(ready, i, 1, o.tell) end
        end
      else
        for _ in range(2) do
          if t == 0 then
            mine[0] = atomic_add(head, 0, 1)
            while atomic_load(ready, mine[0]) == 0 do end
          end
          o.take()
          out[mine[0] * 64 + t] = items[mine[0] * 64 + 63 - t]
          sync_threads()
        end
      end
    end
  end, function() return { zeros(i32, 1), zeros(i32, 4), zeros(i32, 256), zeros(i32, 256) } end,
  function(_, _, _, out) return sum_of(out) == 640 end)

-- Two slots, each with the number of the item that may be put or taken next.
program("a ring of slots", { grid = 2, cooperative = true },
  { free = acquire, put = release, wait = acquire, give = release },
  { free = relaxed, put = relaxed, wait = relaxed, give = relaxed },
  function(o)
    return function(seq, slots, out)
      if threadIdx.x == 0 then
        for i in range(6) do
          local s = i % 2
          if blockIdx.x == 0 then
            while atomic_load(seq, s, o.free) ~= i - s do end
            slots[s] = i * i
            atomic_store(seq, s, i - s + 1, o.put)
          else
            while atomic_load(seq, s, o.wait) ~= i - s + 1 do end
            out[i] = slots[s]
            atomic_store(seq, s, i - s + 2, o.give)
          end
        end
      end
    end
  end, function() return { zeros(i32, 2), zeros(i32, 2), zeros(i32, 6) } end,
  function(_, _, out) return sum_of(out) == 55 end)

-- {====== Blocks in a chain ======

program("decoupled look-back", { grid = 5 }, { tell = release, wait = acquire },
  { tell = relaxed, wait = relaxed },
  function(o)
    return function(x, state, sums, prefixes)
      if threadIdx.x == 0 then
        local b = blockIdx.x
        sums[b] = x[b]
        atomic_store(state, b, 1, o.tell)
        local before, j = 0, b - 1
        while j >= 0 do
          local s = atomic_load(state, j, o.wait)
          while s == 0 do s = atomic_load(state, j, o.wait) end
          if s == 2 then
            before = before + prefixes[j]
            break
          end
          before = before + sums[j]
          j = j - 1
        end
        prefixes[b] = before + x[b]
        atomic_store(state, b, 2, o.tell)
      end
    end
  end, function() return { arange(i32, 5), zeros(i32, 5), zeros(i32, 5), zeros(i32, 5) } end,
  function(_, _, _, prefixes) return prefixes[4] == 10 end)

program("a scan in a single pass", { grid = 4, block = 64 },
  { before = block, tell = release, after = block },
  { before = nothing, tell = relaxed, after = nothing },
  function(o)
    return function(x, state, carry, y)
      local t, b = threadIdx.x, blockIdx.x
      y[b * 64 + t] = x[b * 64 + t]
      o.before()
      if t == 0 then
        local sum = 0
        if b > 0 then
          while atomic_load(state, b - 1) == 0 do end
          sum = carry[b - 1]
        end
        for i in range(64) do sum = sum + y[b * 64 + i] end
        carry[b] = sum
        atomic_store(state, b, 1, o.tell)
      end
      o.after()
      y[b * 64 + t] = y[b * 64 + t] + carry[b]
    end
  end, function() return { full(i32, 256, 1), zeros(i32, 4), zeros(i32, 4), zeros(i32, 256) } end,
  function(_, _, carry) return carry[3] == 256 end)

program("stream-K: a block adds what another one computed", { grid = 2, block = 64 },
  { before = block, tell = release, after = block },
  { before = nothing, tell = relaxed, after = nothing },
  function(o)
    return function(x, flag, part, y)
      local t = threadIdx.x
      local sum = 0
      for k in range(8) do sum = sum + x[(blockIdx.x * 8 + k) * 64 + t] end
      if blockIdx.x == 0 then
        part[63 - t] = sum
        o.before()
        if t == 0 then atomic_store(flag, 0, 1, o.tell) end
      else
        if t == 0 then while atomic_load(flag, 0) == 0 do end end
        o.after()
        y[t] = part[t] + sum
      end
    end
  end, function() return { full(i32, 1024, 1), zeros(i32, 1), zeros(i32, 64), zeros(i32, 64) } end,
  function(_, _, _, y) return sum_of(y) == 1024 end)

program("the last block adds", { grid = 4, block = 64 },
  { before = block, order = { order = "acq_rel" }, after = block },
  { before = nothing, order = release },
  function(o)
    return function(x, part, count, y)
      local t = threadIdx.x
      local is_last = shared(bool, 1)
      part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t]
      o.before()
      if t == 0 then is_last[0] = atomic_add(count, 0, 1, o.order) == gridDim.x - 1 end
      o.after()
      if is_last[0] then
        y[t] = part[t] + part[64 + t] + part[128 + t] + part[192 + t]
        if t == 0 then count[0] = 0 end
      end
    end
  end, function() return { full(i32, 256, 1), zeros(i32, 256), zeros(i32, 1), zeros(i32, 64) } end,
  function(_, _, count, y) return sum_of(y) == 256 and count[0] == 0 end)

program("a barrier of the grid that counts", { grid = 3, block = 64, cooperative = true },
  { before = block, come = { order = "acq_rel" }, go = release, wait = acquire, after = block },
  { before = nothing, come = relaxed, wait = relaxed, after = nothing },
  function(o)
    return function(bar, x, y)
      local t, b = threadIdx.x, blockIdx.x
      for i in range(3) do
        x[b * 64 + t] = b + i
        o.before()
        if t == 0 then
          if atomic_add(bar, 0, 1, o.come) == gridDim.x - 1 then
            atomic_store(bar, 0, 0, relaxed)
            atomic_add(bar, 1, 1, o.go)
          else
            while atomic_load(bar, 1, o.wait) == i do end
          end
        end
        o.after()
        y[b * 64 + t] = y[b * 64 + t] + x[(b + 1) % 3 * 64 + 63 - t]
        sync_grid()
      end
    end
  end, function() return { zeros(i32, 2), zeros(i32, 192), zeros(i32, 192) } end,
  function(_, _, y) return sum_of(y) == 64 * 18 end)

-- {====== Warps ======

program("warps in a tree, by flags in shared memory", { block = 128 },
  { before = function() sync_warp() end, tell = release, after = function() sync_warp() end },
  { before = nothing, tell = relaxed, after = nothing },
  function(o)
    return function(x, y)
      local t, w = threadIdx.x, threadIdx.x // 32
      local s, flag = shared(i32, 128), shared(i32, 4)
      if t < 4 then flag[t] = 0 end
      sync_threads()
      s[t] = x[t]
      local step = 1
      while step < 4 do
        if w % (2 * step) == 0 then
          if t % 32 == 0 then while atomic_load(flag, w + step) == 0 do end end
          o.after()
          s[t] = s[t] + s[(w + step) * 32 + 31 - t % 32]
        elseif w % (2 * step) == step then
          o.before()
          if t % 32 == 0 then atomic_store(flag, w, 1, o.tell) end
        end
        step = 2 * step
      end
      if w == 0 then y[t] = s[t] end
    end
  end, function() return { full(i32, 128, 1), zeros(i32, 32) } end,
  function(_, y) return sum_of(y) == 128 end)

program("arriving and waiting apart, at a named barrier", { block = 64 },
  { write = function(s, t, early) if early then s[t] = 2 * t end end,
    read = function(b) b:sync() end },
  { write = function(s, t, early) if not early then s[t] = 2 * t end end },
  function(o)
    return function(y)
      local t = threadIdx.x
      local s, b = shared(i32, 32), named_barrier(1, 64)
      if t < 32 then
        o.write(s, t, true)
        b:arrive()
        o.write(s, t, false)
      else
        o.read(b)
        y[t - 32] = s[63 - t]
      end
      sync_threads()
    end
  end, function() return { zeros(i32, 32) } end,
  function(y) return sum_of(y) == 992 end)

program("arriving and waiting apart, at mbarriers", { block = 64 },
  { full = function(b, phase) b[0]:wait(phase) end },
  { full = nothing },
  function(o)
    return function(y)
      local t = threadIdx.x
      local s, b = shared(i32, 32), mbarrier(2, 32)
      sync_threads()
      for i in range(3) do
        if t < 32 then
          if i > 0 then b[1]:wait((i - 1) % 2) end
          s[t] = i + t
          b[0]:arrive()
        else
          o.full(b, i % 2)
          y[t - 32] = y[t - 32] + s[63 - t]
          b[1]:arrive()
        end
      end
    end
  end, function() return { zeros(i32, 32) } end,
  function(y) return sum_of(y) == 1584 end)

tap.done()
