-- deepseek_experts.lua: a feed-forward layer of DeepSeek V3 as its checkpoint stores it: experts of
-- f8e4m3 with a scale for each block of 128x128, all gates before all ups; a router by groups of
-- experts, with a correction of the scores by which these are chosen; and a shared expert. Some
-- tokens are checked by plain products.
-- Usage: cuttle deepseek_experts.lua [TOKENS WIDTH HIDDEN EXPERTS CHOICES GROUPS]
local experts, packed = require "cuttle.expert_layer", require "cuttle.packed_weights"
local on_gpu = device().sm ~= nil
local T, D = tonumber(arg[1] or on_gpu and 512 or 12), tonumber(arg[2] or on_gpu and 2048 or 128)
local F, E = tonumber(arg[3] or on_gpu and 1024 or 128), tonumber(arg[4] or on_gpu and 64 or 8)
local K, GROUPS = tonumber(arg[5] or on_gpu and 8 or 3), tonumber(arg[6] or on_gpu and 8 or 4)
local B <const>, SCALE <const> = 128, 2.5                        -- of blocks; of the weights

-- Codes (n,rows,columns) whose numbers are up to 448, and scales that make them small.
local function of_checkpoint(rows, columns, n)
  local W = randn(bf16, layout({rows, columns, n}, {columns, 1, rows * columns}))
  local codes = packed.quantize_weights(W, {type = "f8e4m3", group = columns})
  local least = 0.005 / columns ^ 0.5
  return codes, rand(f32, row_major{n, rows // B, columns // B}, least, 2 * least)
end

local function pack(codes, scales)
  return packed.pack_weights(codes, {type = "f8e4m3", scales = scales, scale_type = bf16})
end

local function down_of(n)
  local codes, scales = of_checkpoint(D, F, n)
  return pack(codes, select(scales, 1, 2, 0))
end

-- Rows gate 0, up 0, gate 1, ... of those that have all gates first; and so each row's scales.
local function gate_up_of(n)
  local codes, scales = of_checkpoint(2 * F, D, n)
  local blocks = D // B
  return pack(view(codes, layout({{2, F}, D, n}, {{F * D, D}, 1, 2 * F * D})),
    view(scales, layout({{2, {B, F // B}}, blocks, n},
      {{F // B * blocks, {0, blocks}}, 1, 2 * F // B * blocks})))
end

local X, logits = randn(bf16, row_major{T, D}), randn(f32, row_major{T, E})
local correction = rand(f32, E, 0.0, 0.5)
local up, down, shared_up, shared_down = gate_up_of(E), down_of(E), gate_up_of(1), down_of(1)
local run_route, routing = experts.prepare_route(logits, K, {score = "sigmoid",
  correction_bias = correction, groups = {GROUPS, GROUPS // 2}, scale = SCALE})
local all = experts.route(zeros(f32, row_major{T, 1}), 1)        -- all tokens have the shared one
local Y = zeros(f32, row_major{T, D})                            -- could hold the residual
local to_Y = {combine = "atomic", out = Y}
run_route()
local run = experts.prepare(X, up, down, routing, to_Y)
run()
experts.expert_layer(X, shared_up, shared_down, all, to_Y)

-- {====== The check ======

-- What expert e of packed weights makes of a token's row.
local function expected(t, gate_up, back, e)
  local row = tile(X, {1, D}, {t, 0})
  local both = reference.matmul(row, gate_up(_, _, e)):to("cpu")
  local hidden = zeros(f32, row_major{1, F}):to("cpu")
  for f = 0, F - 1 do
    local gate = both[2 * f]
    hidden[f] = gate / (1 + math.exp(-gate)) * both[2 * f + 1]
  end
  return reference.matmul(hidden, reference.cast(back(_, _, e), f32):to("cpu")):to("cpu")
end

local matrices = {up:dequantize(bf16), down:dequantize(bf16), shared_up:dequantize(bf16),
                  shared_down:dequantize(bf16)}
local host = {tokens = routing.tokens:to("cpu"), ends = routing.ends:to("cpu"),
              weights = routing.weights:to("cpu"), Y = Y:to("cpu")}
local function is_right(t)
  local sums, e, largest = {}, 0, 0
  local function add(y, by)
    for d = 0, D - 1 do sums[d] = (sums[d] or 0) + by * y[d] end
  end
  add(expected(t, matrices[3], matrices[4], 0), 1)
  for i = 0, T * K - 1 do
    while host.ends[e] <= i do e = e + 1 end
    if host.tokens[i] == t then add(expected(t, matrices[1], matrices[2], e), host.weights[i]) end
  end
  for d = 0, D - 1 do largest = math.max(largest, math.abs(sums[d])) end
  for d = 0, D - 1 do
    if math.abs(host.Y[{t, d}] - sums[d]) > 2e-2 * largest then return false end
  end
  return true
end

local ok = is_right(0) and is_right(T // 2) and is_right(T - 1)
local ms = bench(run)
print(("%d tokens of %d, %d of %d experts of %d on %s: %s"):format(T, D, K, E, F, device().name,
  ok and "correct" or "wrong"))
print(("router %.3f ms, experts %.3f ms, %.1f GFLOP/s"):format(bench(run_route), ms,
  6 * T * K * D * F / ms * 1e-6))
