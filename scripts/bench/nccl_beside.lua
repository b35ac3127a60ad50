-- nccl_beside.lua: collectives of a mesh beside bare calls of NCCL, in one process, on all GPUs or
-- on the first N:
--   build/cuttle --device=cuda scripts/bench/nccl_beside.lua [N [LARGEST]]
-- LARGEST: bytes of the largest buffer, 1 GiB if nothing is said. A row has microseconds a call, in
-- turns, the median of ROUNDS batches between two events. Ways:
--   ours      engine:run as a warm reshard calls it: the host's part in Lua, marks around each call
--   bare      a loop in C of the same calls in communicators that do not block: no marks, no watch
--   blocking  that loop in communicators that block the host, as NCCL has them if nothing is said
-- "back to back": the host enqueues while the devices work, so the slower of both counts. "device":
-- a kernel keeps the devices busy until all is enqueued, so the devices count alone. Then ratios of
-- the device's times, and the bandwidth of the bus by NCCL's own formula. With one device all is
-- the host's part and a copy.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local engines = require "cuttle.engine_nccl"
local ROUNDS <const>, BATCH_MS <const>, DEVICE_REPS <const> = 7, 30, 20

local n = math.tointeger(tonumber(arg[1])) or #ct.devices() - 1
local largest = math.tointeger(tonumber(arg[2])) or 1 << 30
if n < 1 then
  io.stderr:write("nccl_beside: there is no CUDA device\n")
  os.exit(1)
end
ct.device "cuda:0"
local m = ct.mesh{x = n}
local ours = engines.open(m, "nccl_beside", {alone = true})
local free = engines.open(m, "nccl_beside", {alone = true, blocks = false})
local blocking = engines.open(m, "nccl_beside", {alone = true, blocks = true})

local group = {}
for rank = 0, n - 1 do group[rank + 1] = rank end

-- Elements of source and destination, of a buffer of k; the part of the bytes that passes a link.
local shapes = {
  all_reduce = {1, 1, 2 * (n - 1) / n},
  all_gather = {1 / n, 1, (n - 1) / n},
  reduce_scatter = {1, 1 / n, (n - 1) / n},
  all_to_all = {1, 1, (n - 1) / n},
}

local function make_calls(op, bytes)
  local k = bytes // 4 // n * n
  local calls = {}
  for rank = 0, n - 1 do
    ct.device("cuda:" .. rank)
    calls[rank + 1] = {rank = rank, group = group, src = ct.zeros(ct.f32,
      math.tointeger(k * shapes[op][1])),
      dst = ct.zeros(ct.f32, math.tointeger(k * shapes[op][2]))}
  end
  ct.device "cuda:0"
  return calls
end

local memos = setmetatable({}, { __mode = "k" }) -- by calls

local function repeat_ours(op, calls, reps)
  memos[calls] = memos[calls] or {}
  for _ = 1, reps do ours:run(op, calls, memos[calls]) end
end

local runs = {
  repeat_ours,
  function(op, calls, reps) free:bare(op, calls, reps) end,
  function(op, calls, reps) blocking:bare(op, calls, reps) end,
}

local median = require "cuttle.lists".median

-- {====== Times ======

local clock = require "ranks_clock"(n)

-- By way: back to back, then on the device.
local function measure(op, calls)
  local host, device = {{}, {}, {}}, {{}, {}, {}}
  local function by(run)
    return function(reps) run(op, calls, reps) end
  end
  local once = clock.back_to_back(by(runs[3]), 3) / 1000
  local reps = math.max(3, math.min(2000, math.floor(BATCH_MS / once)))
  for _ = 1, ROUNDS do
    for i, run in ipairs(runs) do
      table.insert(host[i], clock.back_to_back(by(run), reps))
      table.insert(device[i], clock.on_device(by(run), DEVICE_REPS))
    end
  end
  local times = {}
  for i = 1, 3 do times[i], times[i + 3] = median(host[i]), median(device[i]) end
  return times
end

print(("%d x %s; microseconds a call"):format(n, ct.device().name))
print(("%-15s %11s %31s %31s %18s %7s"):format("", "", "back to back", "device", "device", ""))
print(("%-15s %11s %10s %10s %10s %10s %10s %10s %9s %9s %7s"):format("collective", "bytes", "ours",
  "bare", "blocking", "ours", "bare", "blocking", "ours/bare", "ours/blk", "GB/s"))
for _, op in ipairs {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"} do
  local bytes = 1 << 20
  while bytes <= largest do
    local calls = make_calls(op, bytes)
    local t = measure(op, calls)
    print(("%-15s %11d %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %9.3f %9.3f %7.1f"):format(op,
      bytes, t[1], t[2], t[3], t[4], t[5], t[6], t[4] / t[5], t[4] / t[6],
      bytes * shapes[op][3] / t[4] / 1000))
    for _, call in ipairs(calls) do
      call.src:close()
      call.dst:close()
    end
    bytes = bytes * 4
  end
end
blocking:close()
free:close()
ours:close()
