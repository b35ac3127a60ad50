-- attention_dot.lua: attention of decoders such as Gemma 2 and GPT-OSS, with dot and row_reduce. It
-- is causal, within a window of keys; tanh caps the scores; a sink joins the keys; and groups of
-- heads share keys. A block has 64 queries of a head and walks over the keys that they see.
-- Usage: cuttle attention_dot.lua [S [heads [depth]]]
-- needs sm_80
local on_gpu = device().sm ~= nil
local S_all = tonumber(arg[1] or (on_gpu and 4096 or 100))
local n_heads = tonumber(arg[2] or (on_gpu and 16 or 4))
local D = tonumber(arg[3] or 64)
local group, window, cap = 2, S_all // 2, 20.0     -- heads that share keys; keys seen; of scores
local bM, bN = 64, 64

-- Q, O (S,D,heads) and K, V (S,D,heads / group); sinks: a score of each head
local attend = kernel("attend", function(Q, K, V, sinks, O, scale)
  local m, h = blockIdx.x, blockIdx.y
  local gQ = tile(guard(Q(_, _, h)), {bM, D}, {m, 0})
  local gK = tile(guard(K(_, _, h // group)), {bN, D}, {_, 0})           -- (bN,D,block)
  local gV = tile(guard(V(_, _, h // group)), {bN, D}, {_, 0})
  local sQ, sK, sV = shared_like(gQ), shared_like(gK, 2), shared_like(gV, 2)
  local Vt = select(sV, {1, 0, 2})                                       -- (D,bN,slot)
  block_copy(gQ, sQ)

  local warps = {warps = {blockDim.x // 32, 1}}                          -- a warp has whole rows
  local out = accumulator(accumulator(sQ, sK, warps), Vt)
  local tops, sums, shrink = out:new_rows(sinks[h]), out:new_rows(1.0), out:new_rows()
  local first = max(m * bM - window + 1, 0) // bN                        -- block of keys
  pipeline(m * bM // bN + 1 - first, {
    stages = 2,
    load = function(j, slot)
      block_copy(gK(_, _, first + j), sK(_, _, slot))
      block_copy(gV(_, _, first + j), sV(_, _, slot))
    end,
    compute = function(slot, j)
      local P = dot(sQ, sK(_, _, slot), accumulator(sQ, sK, warps))
      P:map(function(v, row, column)
        local back = m * bM + row - ((first + j) * bN + column)          -- of the query to the key
        return where(back >= 0 and back < window, cap * fast.tanh(v * scale / cap), -math.huge)
      end)
      local highest = row_reduce(P, "max")
      for r = 0, P.n_rows - 1 do
        local top = max(tops[r], highest[r])
        shrink[r] = fast.exp(tops[r] - top)
        tops[r] = top
      end
      row_broadcast(P, tops, function(v, top) return fast.exp(v - top) end)
      row_broadcast(out, shrink, function(v, f) return v * f end)
      local more = row_reduce(P, "add")
      for r = 0, P.n_rows - 1 do sums[r] = sums[r] * shrink[r] + more[r] end
      dot(P, Vt(_, _, slot), out)
    end,
  })
  row_broadcast(out, sums, function(v, sum) return v / sum end)
  out:store(tile(guard(O(_, _, h)), {bM, D}, {m, 0}))
end)

-- One row in plain Lua: of query i of head h.
local function expected(Q, K, V, sink, i, h, scale)
  local scores, top, g = {}, sink, h // group
  for j = math.max(0, i - window + 1), i do
    local dot = 0.0
    for d = 0, D - 1 do dot = dot + Q[{i, d, h}] * K[{j, d, g}] end
    scores[j] = cap * tanh(dot * scale / cap)
    top = math.max(top, scores[j])
  end
  local sum, row = math.exp(sink - top), {}
  for d = 0, D - 1 do row[d] = 0.0 end
  for j, score in pairs(scores) do
    local p = math.exp(score - top)
    sum = sum + p
    for d = 0, D - 1 do row[d] = row[d] + p * V[{j, d, g}] end
  end
  for d = 0, D - 1 do row[d] = row[d] / sum end
  return row
end

local function heads(n) return layout({S_all, D, n}, {n * D, 1, D}) end
local Q, O = randn(bf16, heads(n_heads)), zeros(bf16, heads(n_heads))
local K, V = randn(bf16, heads(n_heads // group)), randn(bf16, heads(n_heads // group))
local sinks, scale = randn(f32, n_heads), 1 / math.sqrt(D)
local grid = {cdiv(S_all, bM), n_heads}
local launch = attend:prepare{grid = grid, block = 128}(Q, K, V, sinks, O, scale)
launch()
local worst = 0.0
local q, k, v, sink, o = Q:to"cpu", K:to"cpu", V:to"cpu", sinks:to"cpu", O:to"cpu"
for h = 0, n_heads - 1, 3 do
  for i = 7, S_all - 1, math.max(S_all // 6, 1) do
    local row = expected(q, k, v, sink[h], i, h, scale)
    for d = 0, D - 1 do worst = math.max(worst, math.abs(o[{i, d, h}] - row[d])) end
  end
end
assert(worst < 2e-2, "wrong result")
print(("attention of %d heads, S = %d, window %d: off by %.1e, %.3f ms"):format(n_heads, S_all,
  window, worst, bench(launch)))
