-- ranks_matmul.lua: products over ranks on several GPUs of one process, bf16, each beside the
-- product alone: gather_matmul, C (M,N/W) = A (M,K) B (N/W,K)' with A's rows spread over ranks; and
-- matmul_scatter, rows of the sum of A (M,K/W) B (N,K/W)'. The time is that of rank 0's device
-- between two events, with all ranks at work.
-- Usage: cuttle --device=cuda scripts/bench/ranks_matmul.lua [RANKS [M N K]]
local ct = require "cuttle"
local gather, scatter = require "cuttle.gather_matmul", require "cuttle.matmul_scatter"
local operator = require "cuttle.matmul"
local bf16, row_major, zeros, rand = ct.bf16, ct.row_major, ct.zeros, ct.rand
local allclose = ct.allclose

local on_gpu = ct.device().sm ~= nil
local function extent(i, of_gpu, of_cpu) return tonumber(arg[i] or on_gpu and of_gpu or of_cpu) end
local W = extent(1, 2, 2)
local M, N, K = extent(2, 8192, 256), extent(3, 8192, 128), extent(4, 8192, 128)
local ROUNDS <const> = 3
if not on_gpu then ct.device("cpu:" .. W) end
local m = ct.mesh{rank = W}

local function small(rows, columns) return rand(bf16, row_major{rows, columns}, -1, 1) end

local function all_of(seen)
  local list = {}
  for rank = 0, W - 1 do list[rank + 1] = seen[rank] end
  return list
end

-- Of each rank {fused =, plain =, name =, check =}.
local function gathered(r)
  local own, B = small(M // W, K), small(N // W, K)
  local C, D = zeros(bf16, row_major{M, N // W}), zeros(bf16, row_major{M, N // W})
  local panels, A = all_of(r:peers(own)), zeros(bf16, row_major{M, K})
  r:all_gather(ct.view(own, ct.layout(ct.size(own))), ct.view(A, ct.layout(ct.size(A))))
  local fused, name = gather.prepare(panels, r.rank, B, C)
  return { fused = fused, plain = operator.prepare(A, B, D), name = name,
           check = function() return allclose(C, D, {rtol = 0, atol = 0}) end }
end

local function scattered(r)
  local A, B = small(M, K // W), small(N, K // W)
  local C, D = zeros(bf16, row_major{M // W, N}), zeros(bf16, row_major{M, N})
  local spaces = scatter.share(r, scatter.workspace(bf16, M // W, N, W))
  local fused, name = scatter.prepare(A, B, C, r.rank, spaces)
  local part = zeros(bf16, row_major{M // W, N})
  return { fused = fused, plain = operator.prepare(A, B, D), name = name, C = C, D = D,
           part = part }
end

-- What the sum must be: NCCL's, or the mesh's, of all D.
local function check_scattered(ranks)
  m:run(function(r)
    local own = ranks[r.rank]
    r:reduce_scatter(ct.view(own.D, ct.layout(M * N)), ct.view(own.part, ct.layout(M * N // W)))
    r:barrier()
  end)
  ct.synchronize()
  local ok, worst = true, nil
  for rank = 0, W - 1 do
    local is_same, at = allclose(ranks[rank].C, ranks[rank].part, {rtol = 2e-2, atol = 0.5})
    ok, worst = ok and is_same, worst or at
  end
  return ok, worst
end

-- On the CPU mesh kernels of ranks run together in m:run only.
local function launch(ranks, way)
  if on_gpu then
    for rank = 0, W - 1 do ranks[rank][way]() end
  else
    m:run(function(r) ranks[r.rank][way]() end)
  end
end

local function measure(title, ranks, check)
  launch(ranks, "plain")
  launch(ranks, "fused")
  ct.synchronize()
  local ok, worst = check(ranks)
  print(("%s %dx%dx%d over %d ranks, %s: %s"):format(title, M, N, K, W, ranks[0].name,
    ok and "correct" or "differs: " .. tostring(worst)))
  local best = {}
  for _ = 1, ROUNDS do
    for _, way in ipairs { "fused", "plain" } do
      local ms = ct.bench(function() launch(ranks, way) end,
        {reps = on_gpu and 20 or 1, batches = on_gpu and 3 or 1})
      best[way] = math.min(best[way] or ms, ms)
      ct.synchronize()
    end
  end
  print(("  fused %.4f ms, the product alone %.4f ms: %.3f of its speed"):format(best.fused,
    best.plain, best.plain / best.fused))
  return ok
end

local ok = measure("gather, then product", m:run(gathered), function(ranks)
  for rank = 0, W - 1 do
    local is_same, worst = ranks[rank].check()
    if not is_same then return false, worst end
  end
  return true
end)
ok = measure("product, then scatter", m:run(scattered), check_scattered) and ok
os.exit(ok, true)
