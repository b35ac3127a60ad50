-- nccl_beside.lua: collectives of a mesh beside bare calls of NCCL, in one process, on all GPUs or
-- on the first N:
--   build/cuttle --device=cuda scripts/bench/nccl_beside.lua [N [LARGEST]]
-- LARGEST: bytes of the largest buffer, 1 GiB if nothing is said. A row has microseconds a call, in
-- turns, the median of ROUNDS batches between two events:
--   ours      engine:run: the host's part in Lua, events around each call, communicators that do
--             not block
--   bare      a loop in C of the same calls in the same communicators: no events, no watch
--   blocking  that loop in communicators that block the host, as NCCL has them if nothing is said
-- and the bandwidth of the bus by NCCL's own formula. With one device all is the host's part and a
-- copy.
local ct = require "cuttle"
local engines = require "cuttle.engine_nccl"
local ROUNDS <const>, BATCH_MS <const> = 7, 30

local n = math.tointeger(tonumber(arg[1])) or #ct.devices() - 1
local largest = math.tointeger(tonumber(arg[2])) or 1 << 30
if n < 1 then
  io.stderr:write("nccl_beside: there is no CUDA device\n")
  os.exit(1)
end
ct.device "cuda:0"
local m = ct.mesh{x = n}
local ours = engines.open(m, "nccl_beside", {alone = true})
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

local function repeat_ours(op, calls, reps)
  for _ = 1, reps do ours:run(op, calls) end
end

local runs = {
  repeat_ours,
  function(op, calls, reps) ours:bare(op, calls, reps) end,
  function(op, calls, reps) blocking:bare(op, calls, reps) end,
}

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Microseconds a call of each way.
local function measure(op, calls)
  local times = {{}, {}, {}}
  local once = ct.bench(function() runs[2](op, calls, 3) end, {reps = 1, batches = 3}) / 3
  local reps = math.max(3, math.min(2000, math.floor(BATCH_MS / once)))
  for _ = 1, ROUNDS do
    for i, run in ipairs(runs) do
      local ms = ct.bench(function() run(op, calls, reps) end, {reps = 1, batches = 1})
      table.insert(times[i], ms * 1000 / reps)
    end
  end
  return median(times[1]), median(times[2]), median(times[3])
end

print(("%d x %s"):format(n, ct.device().name))
print(("%-15s %11s %10s %10s %10s %9s %9s %9s"):format("collective", "bytes", "ours us", "bare us",
  "blocking us", "ours/bare", "ours/blk", "GB/s"))
for _, op in ipairs {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"} do
  local bytes = 1 << 20
  while bytes <= largest do
    local calls = make_calls(op, bytes)
    local a, b, c = measure(op, calls)
    print(("%-15s %11d %10.1f %10.1f %10.1f %9.3f %9.3f %9.1f"):format(op, bytes, a, b, c,
      a / b, a / c,
      bytes * shapes[op][3] / a / 1000))
    for _, call in ipairs(calls) do
      call.src:close()
      call.dst:close()
    end
    bytes = bytes * 4
  end
end
blocking:close()
ours:close()
