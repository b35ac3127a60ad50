-- ranks_beside.lua: what the GPUs of one machine do together, beside PyTorch on the same GPUs:
--   cuttle --device=cuda scripts/bench/ranks_beside.lua [RANKS] [word ...]
-- RANKS is 2 if nothing is said. Words, else all:
--   gather      C (M,N/W) = A (M,K) B (N/W,K)', bf16, where A's rows are spread over W ranks
--   scatter     rows of the sum of A (M,K/W) B (N,K/W)' over the ranks
--   all_reduce  256 KiB of f32, by the kernel of examples/one_shot_all_reduce.lua, beside NCCL
--   mlp         a step of two layers, their weights spread over the ranks: rows are gathered and
--               multiplied, gelu, multiplied, and the sums of rows brought to their owners
-- One process drives all devices; a time is the median of batches between two events of rank 0's.
-- PyTorch (ranks_torch.py) has a process for each GPU, which torchrun starts before ours begin.
-- RANKS_TORCH=0 leaves it out. Ratios are times by the first way's, which is ours. On the CPU mesh
-- sizes are small, and only results count.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local gathering, scattering = require "cuttle.gather_matmul", require "cuttle.matmul_scatter"
local operator = require "cuttle.matmul"
local data, example, ranks_sums = require "data", require "example", require "ranks_sums"
local median = require "cuttle.lists".median
local bf16, f32, row_major, zeros = ct.bf16, ct.f32, ct.row_major, ct.zeros
local matmul, allclose, unroll = ct.matmul, ct.allclose, ct.unroll

local on_gpu = ct.device().sm ~= nil
local W, words = 2, { table.unpack(arg) }
if math.tointeger(tonumber(words[1])) then W = math.tointeger(tonumber(table.remove(words, 1))) end
if #words == 0 then words = { "gather", "scatter", "all_reduce", "mlp" } end
local ROUNDS <const>, BATCH_MS <const>, SMALL_REPS <const> = 7, 30, 20
local M, N, K = 8192, 8192, 8192
local TOKENS, DEPTH, HIDDEN = 8192, 8192, 28672
if not on_gpu then
  M, N, K, TOKENS, DEPTH, HIDDEN = 256, 128, 128, 128, 64, 256
  ct.device("cpu:" .. W)
end
local m = ct.mesh{rank = W}
local clock = on_gpu and require "ranks_clock"(W)

local function flat(t) return ct.view(t, ct.layout(ct.size(t))) end

local function small(rows, columns, seed)
  return data.uniform(ct.tensor(bf16, row_major{rows, columns}), seed)
end

-- {====== Times ======

-- On the CPU mesh kernels of ranks run together in m:run only.
local function on_all(ranks, way)
  if not on_gpu then return m:run(function(r) ranks[r.rank][way]() end) end
  for rank = 0, W - 1 do ranks[rank][way]() end
end

local function repeated(f)
  return function(n)
    for _ = 1, n do f() end
  end
end

-- {name = ms} of a case's ways, alternately; without a GPU each runs once. The first results are
-- checked.
local function times_of(case)
  local times, medians = {}, {}
  for _, way in ipairs(case.ways) do way.run() end
  case.check()
  if not on_gpu then return medians end
  local time = clock[case.time or "back_to_back"]
  for _ = 1, ROUNDS do
    for _, way in ipairs(case.ways) do
      local f = repeated(way.run)
      local n = case.reps or math.max(3, math.ceil(1000 * BATCH_MS / time(f, 3)))
      times[way.name] = times[way.name] or {}
      table.insert(times[way.name], time(f, n) / 1000)
    end
  end
  for name, list in pairs(times) do medians[name] = median(list) end
  return medians
end

-- {====== PyTorch ======

-- {name = ms, or why there is none}.
local function torch_times()
  if not on_gpu or os.getenv "RANKS_TORCH" == "0" then return {} end
  local command = ("python3 -m torch.distributed.run --standalone --nproc-per-node=%d '%s' %d %d "
    .. "%d %d %d %d %s 2>&1"):format(W, package.searchpath("ranks_torch",
    (package.path:gsub("%.lua", ".py"))), M, N, K, TOKENS, DEPTH, HIDDEN, table.concat(words, " "))
  local pipe, times, said = assert(io.popen(command)), {}, {}
  for line in pipe:lines() do
    local name, value = line:match "^(%l[%l_]* %l+) (.*)$"
    if name then times[name] = tonumber(value) or value end
    said[#said + 1] = line
  end
  if not pipe:close() then print("PyTorch:\n" .. table.concat(said, "\n")) end
  return times
end

-- {====== Cases: what they do, their ways, and whether results are right ======

local cases = {}

local function all_of(seen)
  local list = {}
  for rank = 0, W - 1 do list[rank + 1] = seen[rank] end
  return list
end

function cases.gather()
  local ranks = m:run(function(r)
    local own, B = small(M // W, K, r.rank), small(N // W, K, 10 + r.rank)
    local C, D = zeros(bf16, row_major{M, N // W}), zeros(bf16, row_major{M, N // W})
    local panels, A = all_of(r:peers(own)), zeros(bf16, row_major{M, K})
    r:all_gather(flat(own), flat(A))
    return { fused = gathering.prepare(panels, r.rank, B, C),
             alone = operator.prepare(A, B, D), C = C, D = D }
  end)
  return {
    title = ("rows gathered, then %dx%dx%d"):format(M, N // W, K),
    ways = { { name = "fused", run = function() on_all(ranks, "fused") end },
             { name = "alone", run = function() on_all(ranks, "alone") end } },
    check = function()
      for rank = 0, W - 1 do
        assert(allclose(ranks[rank].C, ranks[rank].D, {rtol = 1e-2, atol = 1e-2}))
      end
    end,
  }
end

-- NCCL rounds at each rank, and a share may be rounded otherwise than that of the product alone.
local function check_sums(shares, y)
  local n = ranks_sums.count_far(shares, y, W + 1)
  if n > 0 then error(("%d of %d sums are wrong"):format(n, ct.size(y))) end
end

function cases.scatter()
  local ranks = m:run(function(r)
    local A, B = small(M, K // W, r.rank), small(N, K // W, 10 + r.rank)
    local C, D = zeros(bf16, row_major{M // W, N}), zeros(bf16, row_major{M, N})
    local spaces = scattering.share(r, scattering.workspace(bf16, M // W, N, W))
    return { fused = scattering.prepare(A, B, C, r.rank, spaces),
             alone = operator.prepare(A, B, D), C = C, D = D }
  end)
  return {
    title = ("%dx%dx%d, then sums to owners"):format(M, N, K // W),
    ways = { { name = "fused", run = function() on_all(ranks, "fused") end },
             { name = "alone", run = function() on_all(ranks, "alone") end } },
    check = function()
      m:run(function(r)
        local own = ranks[r.rank]
        check_sums(ranks_sums.panels(r, own.D), own.C)
        r:barrier()
      end)
    end,
  }
end

function cases.all_reduce()
  local n, THREADS <const>, BLOCKS <const> = 1 << 16, 512, 128
  local kernel = example.run_to("mesh", "one_shot_all_reduce", n, W).all_reduce
  local x = m:zeros(f32, {W, n}, "(rank@rank,element)")
  local y = m:zeros(f32, {W, n}, "(rank@rank,element)")
  local inboxes = m:zeros(ct.u64, {W, n, W, 2}, "(rank@rank,element,from,turn)")
  local calls = {}
  local ranks = m:run(function(r)
    local seen, call = {}, 0
    for rank = 0, W - 1 do seen[rank + 1] = ct.view(ct.peer_tensor(inboxes, rank), {n, W, 2}) end
    local own, of_nccl = ct.view(x:part(r.rank), n), ct.view(y:part(r.rank), n)
    calls[r.rank + 1] = { rank = r.rank, src = of_nccl, dst = of_nccl }
    for _, t in ipairs { own, of_nccl } do t:fill(r.rank + 1) end
    r:barrier()
    return { tensors = { own, of_nccl }, ours = function()
      call = call + 1
      kernel{grid = BLOCKS, block = THREADS}(own, seen, ct.i32(r.rank), ct.i32(call))
    end }
  end)
  local group = {}
  for rank = 0, W - 1 do group[rank + 1] = rank end
  for _, call in ipairs(calls) do call.group = group end
  local engine = require "cuttle.engine".of(m, "ranks_beside")
  return {
    title = "all-reduce of 256 KiB", time = "on_device", reps = SMALL_REPS,
    ways = {
      { name = "ours", run = function() on_all(ranks, "ours") end },
      { name = "nccl", run = function()
        if on_gpu then engine:bare("all_reduce", calls, 1) else engine:run("all_reduce", calls) end
      end },
    },
    check = function() -- then zeros, which stay zeros
      ct.synchronize()
      for _, rank in pairs(ranks) do
        for _, t in ipairs(rank.tensors) do
          assert(allclose(t:to "cpu", ct.full(f32, n, W * (W + 1) / 2)))
          t:fill(0)
        end
      end
    end,
  }
end

local gelu = ct.kernel("gelu", function(x)
  local v = ct.fragment(bf16, 8)
  local part = ct.tile(x, {8}, {ct.blockIdx.x * ct.blockDim.x + ct.threadIdx.x})
  ct.copy(part, v)
  for i in unroll(8) do
    local t = ct.cast(v[i], f32)
    v[i] = ct.cast(0.5 * t * (1.0 + ct.erf(t * 0.70710678)), bf16)
  end
  ct.copy(v, part)
end)

function cases.mlp()
  local T, D, H = TOKENS, DEPTH, HIDDEN
  local x = m:tensor(bf16, row_major{T, D}, "(token@rank,depth)")
  local w1 = m:tensor(bf16, row_major{H, D}, "(hidden@rank,depth)")
  local w2 = m:tensor(bf16, row_major{D, H}, "(depth,hidden@rank)")
  m:run(function(r)
    for i, t in ipairs { x, w1, w2 } do data.uniform(t:part(r.rank), 10 * i + r.rank) end
  end)
  local hidden = m:tensor(bf16, row_major{T, H}, "(token,hidden@rank)")
  local ys = {}
  local function step(overlap)
    ys[overlap] = ys[overlap] or m:tensor(bf16, row_major{T, D}, "(token@rank,depth)")
    return function()
      matmul(x, w1, hidden, {alpha = D ^ -0.5, overlap = overlap})
      m:run(function(r)
        local own = flat(hidden:part(r.rank))
        gelu{grid = ct.size(own) // (8 * 128), block = 128}(own)
      end)
      matmul(hidden, w2, ys[overlap], {overlap = overlap})
    end
  end
  return {
    title = ("two layers, %d tokens, %d -> %d -> %d"):format(T, D, H, D),
    ways = { { name = "fused", run = step(true) }, { name = "nccl", run = step(false) } },
    check = function()
      m:run(function(r)
        local shares = zeros(bf16, row_major{T, D})
        matmul(hidden:part(r.rank), w2:part(r.rank), shares)
        local panels = ranks_sums.panels(r, shares)
        for _, y in pairs(ys) do check_sums(panels, y:part(r.rank)) end
        r:barrier()
      end)
    end,
  }
end

-- {====== The table ======

local function print_times(word, case, times, torch)
  print(case.title .. ": correct")
  local best = times.fused or times.ours
  for _, way in ipairs(case.ways) do
    local ms = times[way.name]
    if ms then
      print(("  %-16s %9.4f ms  %.3f of the first"):format(way.name, ms, ms / best))
    end
  end
  for _, way in ipairs { "fused", "nccl", "alone" } do
    local theirs = torch[word .. " " .. way]
    if type(theirs) == "number" then
      print(("  PyTorch %-8s %9.4f ms  %.3f of the first"):format(way, theirs, theirs / best))
    elseif theirs then
      print(("  PyTorch %-8s %s"):format(way, theirs))
    end
  end
end

for _, word in ipairs(words) do
  if not cases[word] then
    io.stderr:write(("ranks_beside: '%s' is not one of gather, scatter, all_reduce, mlp\n"):format(
      word))
    os.exit(1)
  end
end
local torch = torch_times()
for _, word in ipairs(words) do
  local case <const> = cases[word]()
  print_times(word, case, times_of(case), torch)
  if on_gpu then clock.await_all() end
  collectgarbage()
end
