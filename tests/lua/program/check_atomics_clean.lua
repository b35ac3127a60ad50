-- Kernels with atomic operations in good order: right results, and `check` finds nothing in them.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local function sum_of(t)
  local sum = 0
  for i = 0, size(t) - 1 do sum = sum + t[i] end
  return sum
end

-- Launches under check; `verify` says whether the result is right.
local function clean(name, config, f, arguments, verify)
  local findings, _, ok, message = check.run(function()
    local k = kernel("k", f)
    for _ = 1, config.times or 1 do
      k{ grid = config.grid or 1, block = config.block, cooperative = config.cooperative }(
        table.unpack(arguments))
    end
  end)
  local right = ok and verify(table.unpack(arguments))
  tap.ok(right and #findings == 0, name, tostring(message), right and "" or "wrong result",
    check.report(findings, 1))
end

clean("a histogram that is cleared first", { grid = 3, block = 64 }, function(x, h)
  local s = shared(i32, 16)
  if threadIdx.x < 16 then s[threadIdx.x] = 0 end
  sync_threads()
  for i in range(threadIdx.x, size(x), blockDim.x) do atomic_add(s, x[i] % 16, 1) end
  sync_threads()
  if threadIdx.x < 16 then atomic_add(h, threadIdx.x, s[threadIdx.x]) end
end, { arange(i32, 1000), zeros(i32, 16) }, function(_, h) return sum_of(h) == 3000 end)

clean("a histogram that is cleared by its last reader", { block = 64 }, function(x, h)
  local s = shared(i32, 64)
  local t = threadIdx.x
  s[t] = 0
  for r in range(3) do
    sync_threads()
    atomic_add(s, x[t] % 8, 1)
    sync_threads()
    h[t] = h[t] + s[t] + r - r
    s[t] = 0
  end
end, { arange(i32, 64), zeros(i32, 64) }, function(_, h) return sum_of(h) == 192 end)

clean("counters that start by atomic stores", { block = 64 }, function(h)
  local s = shared(i32, 1)
  atomic_store(s, 0, 0, { order = "relaxed" })
  sync_threads()
  atomic_add(s, 0, 1)
  sync_threads()
  h[threadIdx.x] = s[0]
end, { zeros(i32, 64) }, function(h) return h[63] == 64 end)

clean("tickets: who takes one writes there", { grid = 4, block = 32 }, function(ticket, out)
  out[atomic_add(ticket, 0, 1)] = 1
end, { zeros(i32, 1), zeros(i32, 128) }, function(_, out) return sum_of(out) == 128 end)

clean("appending to a list, a ticket for each warp", { grid = 4, block = 64 },
  function(ticket, x, out)
    local i = blockIdx.x * 64 + threadIdx.x
    local wanted = x[i] % 3 == 0
    local mask = ballot(wanted)
    local base = 0
    if threadIdx.x % 32 == 0 then base = atomic_add(ticket, 0, popc(mask)) end
    base = shfl_idx(base, 0)
    local before = popc(mask & ((u32(1) << cast(threadIdx.x % 32, u32)) - u32(1)))
    if wanted then out[base + before] = x[i] end
  end, { zeros(i32, 1), arange(i32, 256), zeros(i32, 256) },
  function(ticket, _, out) return ticket[0] == 86 and sum_of(out) == 86 * 255 // 2 end)

clean("the last block adds what all blocks wrote", { grid = 5, block = 32 },
  function(x, partial, done, out)
    local s = shared(i32, 1)
    if threadIdx.x == 0 then
      partial[blockIdx.x] = x[blockIdx.x]
      fence()
      s[0] = atomic_add(done, 0, 1)
      fence()
    end
    sync_threads()
    if s[0] == gridDim.x - 1 and threadIdx.x == 0 then
      local sum = 0
      for i in range(5) do sum = sum + partial[i] end
      out[0] = sum
      done[0] = 0
    end
  end, { arange(i32, 5), zeros(i32, 5), zeros(i32, 1), zeros(i32, 1) },
  function(_, _, done, out) return out[0] == 10 and done[0] == 0 end)

clean("a spin lock", { grid = 4, block = 32 }, function(lock, total)
  if threadIdx.x == 0 then
    while atomic_cas(lock, 0, 0, 1) ~= 0 do end
    fence()
    total[0] = total[0] + blockIdx.x
    fence()
    atomic_store(lock, 0, 0)
  end
end, { zeros(i32, 1), zeros(i32, 1) }, function(_, total) return total[0] == 6 end)

clean("a lock that is given back by exch", { grid = 4, block = 32 }, function(lock, total)
  if threadIdx.x == 0 then
    while atomic_exch(lock, 0, 1) ~= 0 do end
    fence()
    total[0] = total[0] + 1
    fence()
    atomic_exch(lock, 0, 0)
  end
end, { zeros(i32, 1), zeros(i32, 1) }, function(_, total) return total[0] == 4 end)

clean("a CAS loop for a maximum of floats", { grid = 2, block = 64 }, function(x, best)
  local mine = x[blockIdx.x * 64 + threadIdx.x]
  local old = atomic_load(best, 0, { order = "relaxed" })
  while old < mine do
    local seen = atomic_cas(best, 0, old, mine)
    if seen == old then break end
    old = seen
  end
end, { arange(f32, 128), zeros(f32, 1) }, function(_, best) return best[0] == 127 end)

clean("atomic operations on disjoint words", { block = 64 }, function(out)
  local s = shared(i32, 64)
  s[threadIdx.x] = threadIdx.x
  atomic_add(s, threadIdx.x, 1)
  out[threadIdx.x] = s[threadIdx.x]
end, { zeros(i32, 64) }, function(out) return sum_of(out) == 64 * 65 // 2 end)

clean("pairs of halves", { grid = 2, block = 32 }, function(x)
  atomic_add(x, 0, 1.0, 2.0)
end, { zeros(f16, 2) }, function(x) return x[0] == 64 and x[1] == 128 end)

clean("a counter and a value in one word", { grid = 2, block = 32 }, function(x, out)
  local old = atomic_add(x, 0, i64(1) << i64(32) | i64(threadIdx.x))
  if old >> i64(32) == i64(63) then out[0] = 1 end
end, { zeros(i64, 1), zeros(i32, 1) }, function(x, out) return x[0] >> 32 == 64 and out[0] == 1 end)

clean("atomic operations, then the next launch", { grid = 2, block = 32, times = 3 },
  function(n, out)
    if blockIdx.x == 0 and threadIdx.x == 0 then out[0] = n[1] end
    atomic_add(n, 0, 1)
  end, { zeros(i32, 2), zeros(i32, 1) }, function(n) return n[0] == 192 end)

clean("operations of several kinds on one word", { grid = 2, block = 32 }, function(x)
  atomic_max(x, 0, threadIdx.x)
  atomic_or(x, 0, 64)
  atomic_min(x, 0, 1000)
  atomic_xor(x, 1, 1)
  atomic_and(x, 0, 127)
end, { zeros(i32, 2) }, function(x) return x[0] & 64 ~= 0 and x[1] == 0 end)

clean("a flag between warps", { block = 64 }, function(out)
  local s, flag = shared(i32, 32), shared(i32, 1)
  if threadIdx.x == 0 then flag[0] = 0 end
  sync_threads()
  if threadIdx.x < 32 then
    s[threadIdx.x] = threadIdx.x
    sync_warp()
    if threadIdx.x == 0 then atomic_store(flag, 0, 1) end
  else
    while atomic_load(flag, 0) == 0 do end
    out[threadIdx.x - 32] = s[63 - threadIdx.x]
  end
end, { zeros(i32, 32) }, function(out) return out[0] == 31 and out[31] == 0 end)

clean("a counter between two grid barriers", { grid = 3, block = 32, cooperative = true },
  function(n, out)
    if blockIdx.x == 0 and threadIdx.x == 0 then n[0] = 0 end
    sync_grid()
    atomic_add(n, 0, 1)
    sync_grid()
    out[blockIdx.x * 32 + threadIdx.x] = n[0]
  end, { full(i32, 1, 9), zeros(i32, 96) }, function(_, out) return sum_of(out) == 96 * 96 end)

clean("a counter of a warp, ordered by sync_warp", { block = 64 }, function(out)
  local s, w = shared(i32, 2), threadIdx.x // 32
  if threadIdx.x % 32 == 0 then s[w] = 0 end
  sync_warp()
  atomic_add(s, w, threadIdx.x % 32)
  sync_warp()
  out[threadIdx.x] = s[w]
end, { zeros(i32, 64) }, function(out) return sum_of(out) == 64 * 496 end)

clean("a counter of a part of the block, by a named barrier", { block = 96 }, function(out)
  local s = shared(i32, 1)
  if threadIdx.x < 64 then
    local some = named_barrier(1, 64)
    if threadIdx.x == 0 then s[0] = 0 end
    some:sync()
    atomic_add(s, 0, 1)
    some:sync()
    out[threadIdx.x] = s[0]
  end
end, { zeros(i32, 96) }, function(out) return sum_of(out) == 64 * 64 end)

clean("a thread's own counter, before and after", { block = 32 }, function(n, out)
  if threadIdx.x == 0 then
    n[0] = 5
    atomic_add(n, 0, 1)
    out[0] = n[0]
    n[0] = 0
  end
end, { zeros(i32, 1), zeros(i32, 1) }, function(n, out) return out[0] == 6 and n[0] == 0 end)

clean("exch into memory that nobody set, whose old value is not used", { block = 32 },
  function(out)
    local s = shared(i32, 32)
    atomic_exch(s, threadIdx.x, threadIdx.x)
    sync_threads()
    out[threadIdx.x] = s[31 - threadIdx.x]
  end, { zeros(i32, 32) }, function(out) return out[0] == 31 end)

clean("work that blocks take one after another", { grid = 3, block = 32 }, function(next_item, out)
  local s = shared(i32, 1)
  while true do
    if threadIdx.x == 0 then s[0] = atomic_add(next_item, 0, 1) end
    sync_threads()
    local item = s[0]
    if item >= 10 then break end
    out[item * 32 + threadIdx.x] = item
    sync_threads()
  end
end, { zeros(i32, 1), zeros(i32, 320) }, function(_, out) return sum_of(out) == 45 * 32 end)

clean("sums of floats, a warp at a time", { grid = 2, block = 64 }, function(x, total)
  local v = x[blockIdx.x * 64 + threadIdx.x]
  for _, d in ipairs { 16, 8, 4, 2, 1 } do v = v + shfl_xor(v, d) end
  if threadIdx.x % 32 == 0 then atomic_add(total, 0, v) end
end, { full(f32, 128, 1), zeros(f32, 1) }, function(_, total) return total[0] == 128 end)

tap.done()
