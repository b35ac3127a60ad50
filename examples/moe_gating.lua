-- moe_gating.lua: the router of a mixture of experts. Each token gets the K experts with the
-- largest logits, and softmax weights over these. A warp serves a token: `warp_reduce` of records
-- finds its largest logit. Then the K largest of rows that are too long for a warp, as in sampling
-- from a vocabulary: a block per row. If values are equal, the first one counts.
-- Usage: cuttle moe_gating.lua [TOKENS [EXPERTS [K]]]
local on_gpu = device().sm ~= nil
local TOKENS = tonumber(arg[1] or (on_gpu and 16384 or 90))
local EXPERTS = tonumber(arg[2] or 72)
local K = tonumber(arg[3] or 6)
local WARPS, ROWS, LENGTH = 4, on_gpu and 256 or 3, on_gpu and 128000 or 3000

local function precedes(a, b)
  return a.value > b.value or a.value == b.value and a.index < b.index
end

local function first(a, b)
  if precedes(b, a) then return b end
  return a
end

local gate = kernel("gate", function(logits, weights, experts)    -- (E, T), (K, T), (K, T)
  local lane, token = threadIdx.x, blockIdx.x * WARPS + threadIdx.y
  if token >= size(logits, 1) then return end                     -- a whole warp
  local own = {}
  for j = 1, cdiv(EXPERTS, 32) do
    local e = (j - 1) * 32 + lane
    own[j] = {value = -math.huge, index = e}
    if e < EXPERTS then own[j].value = logits[{e, token}] end
  end
  local mine, highest, sum = {value = 0.0, index = 0}, nil, 0.0
  for k = 0, K - 1 do
    local best = own[1]
    for j = 2, #own do best = first(best, own[j]) end
    best = warp_reduce(best, first)
    for _, one in ipairs(own) do
      if one.index == best.index then one.value = -math.huge end
    end
    if lane == k then mine = best end                             -- lane k keeps the k-th
    highest = highest or best.value
    sum = sum + exp(best.value - highest)
  end
  if lane < K then
    weights[{lane, token}] = exp(mine.value - highest) / sum
    experts[{lane, token}] = mine.index
  end
end)

local top_k = kernel("top_k", function(rows, values, indices)     -- (N, R), (K, R), (K, R)
  local row = rows(_, blockIdx.x)
  local last = {value = math.huge, index = -1}
  for k in range(K) do
    local best = {value = -math.huge, index = size(row)}
    for i in range(threadIdx.x, size(row), blockDim.x) do
      local one = {value = row[i], index = i}
      if precedes(last, one) and precedes(one, best) then best = one end
    end
    last = block_reduce(best, first)
    if threadIdx.x == 0 then
      values[{k, blockIdx.x}], indices[{k, blockIdx.x}] = last.value, last.index
    end
  end
end)

-- In plain Lua: the elements of a column, the largest first.
local function sorted(column)
  local order = {}
  for i, v in ipairs(column:totable()) do order[i] = {value = v, index = i - 1} end
  table.sort(order, precedes)
  return order
end

local logits = rand(f32, {EXPERTS, TOKENS}, -4, 4)
local weights, experts = zeros(f32, {K, TOKENS}), zeros(i32, {K, TOKENS})
local run_gate = gate:prepare{grid = cdiv(TOKENS, WARPS), block = {32, WARPS}}(
  logits, weights, experts)
run_gate()
local rows = rand(f32, {LENGTH, ROWS})
local values, indices = zeros(f32, {K, ROWS}), zeros(i32, {K, ROWS})
local run_top_k = top_k:prepare{grid = ROWS, block = 256}(rows, values, indices)
run_top_k()

local ok = true
local got_w, got_e = weights:totable(), experts:totable()
for t = 1, math.min(TOKENS, 500) do
  local order, sum = sorted(logits(_, t - 1)), 0.0
  for k = 1, K do sum = sum + math.exp(order[k].value - order[1].value) end
  for k = 1, K do
    local want = math.exp(order[k].value - order[1].value) / sum
    ok = ok and got_e[k][t] == order[k].index and math.abs(got_w[k][t] - want) < 1e-5
  end
end
local got_v, got_i = values:totable(), indices:totable()
for r = 1, 2 do
  local order = sorted(rows(_, r - 1))
  for k = 1, K do
    ok = ok and got_v[k][r] == order[k].value and got_i[k][r] == order[k].index
  end
end
print(("%d of %d experts for %d tokens, %d of rows of %d on %s: %s"):format(K, EXPERTS, TOKENS, K,
  LENGTH, device().name, ok and "correct" or "wrong"))
print(("gate %.4f ms, top-k %.4f ms"):format(bench(run_gate), bench(run_top_k)))
os.exit(ok, true)
