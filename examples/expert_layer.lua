-- expert_layer.lua: the feed-forward layer of a mixture of experts, from the router's logits on.
-- The first of two grouped products gathers the tokens' rows, the second one scatters weighted
-- rows. With "atomic", rows are added to the residual. Some tokens are checked by plain products.
-- Usage: cuttle expert_layer.lua [TOKENS WIDTH HIDDEN EXPERTS CHOICES]
local on_gpu = device().sm ~= nil
local T, D = tonumber(arg[1] or on_gpu and 4096 or 60), tonumber(arg[2] or on_gpu and 2048 or 32)
local F, E = tonumber(arg[3] or on_gpu and 768 or 48), tonumber(arg[4] or on_gpu and 16 or 6)
local K = tonumber(arg[5] or on_gpu and 4 or 2)
local dtype = on_gpu and device().sm >= 80 and bf16 or f32
local experts = require "cuttle.expert_layer"

local function weights(rows, columns)
  return randn(dtype, layout({rows, columns, E}, {columns, 1, rows * columns}))
end

local X, logits = randn(dtype, row_major{T, D}), randn(f32, row_major{T, E})
local gate_up, down = weights(2 * F, D), weights(D, F)

local run_route, routing = experts.prepare_route(logits, K)
local run_layer, Y = experts.prepare(X, gate_up, down, routing)
run_route()
run_layer()
local residual = zeros(f32, row_major{T, D})
experts.expert_layer(X, gate_up, down, routing, {combine = "atomic", out = residual})

-- What an expert makes of a token's row, (1,D).
local function expected(t, e)
  local row = tile(X, {1, D}, {t, 0})
  local both = reference.cast(reference.matmul(row, gate_up(_, _, e)), f32):to("cpu")
  local hidden = zeros(f32, row_major{1, F}):to("cpu")
  for f = 0, F - 1 do
    local gate = both[2 * f]
    hidden[f] = gate / (1 + math.exp(-gate)) * both[2 * f + 1]
  end
  return reference.matmul(hidden, reference.cast(down(_, _, e), f32):to("cpu")):to("cpu")
end

local tokens, ends, w = routing.tokens:to("cpu"), routing.ends:to("cpu"), routing.weights:to("cpu")
local function is_right(t)
  local sums, largest = {}, 0
  for e = 0, E - 1 do
    for i = e > 0 and ends[e - 1] or 0, ends[e] - 1 do
      local y = tokens[i] == t and expected(t, e)
      for d = 0, y and D - 1 or -1 do sums[d] = (sums[d] or 0) + w[i] * y[d] end
    end
  end
  for d = 0, D - 1 do largest = math.max(largest, math.abs(sums[d])) end
  local ok, bound = true, (dtype == f32 and 1e-4 or 2e-2) * largest
  for d = 0, D - 1 do
    ok = ok and math.abs(Y[{t, d}] - sums[d]) < bound
      and math.abs(residual[{t, d}] - sums[d]) < bound
  end
  return ok
end
local ok = is_right(0) and is_right(T // 2) and is_right(T - 1)
local ms = bench(run_layer)
print(("%d tokens of %d, %d of %d experts of %d on %s: %s"):format(T, D, K, E, F, device().name,
  ok and "correct" or "wrong"))
print(("router %.3f ms, layer %.3f ms, %.1f GFLOP/s"):format(bench(run_route), ms,
  6 * T * K * D * F / ms * 1e-6))
os.exit(ok, true)
