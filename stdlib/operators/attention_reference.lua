-- attention_reference.lua: reference.attention: softmax(scale Q K') V head by head on the host, in
-- double precision from the first product to the last sum, rounded once.
local internal = ...
local problem = require "cuttle.attention_problem"
local scales = require "cuttle.attention_scales"
local M = {}

-- Rows [first, first + n) of head h of t (S,D,H,B), as (D,S): a row's elements come first.
local function rows_of(t, first, n, h, b)
  local head = t(_, _, h, b)
  local depth, stride = size(head, 1), stride(head)
  return view(tile(head, { 1, depth }, { first, 0 }),
    layout({ depth, n }, { stride[2], stride[1] }))
end

-- The same of the first n rows of sequence b in pages.
local function rows_of_pages(p, t, b, n, h)
  local depth, pages = size(t, 1), p.table.device == "cpu" and p.table or p.table:to "cpu"
  local out = tensor(t.dtype, layout({ depth, n }))
  for k = 0, n - 1 do
    copy(t(k % p.page_size, _, h, pages[{ k // p.page_size, b }]), out(_, k))
  end
  return out
end

local function elements_of(t, first, n, h, b)
  local row = t(_, h, b)
  return view(tile(row, { 1 }, { first }), layout({ n }, stride(row)))
end

-- {====== Masks and scores ======

-- (D,S) as (S,D), in f64.
local function wide(t)
  return reference.cast(view(t, layout({ size(t, 1), size(t, 0) }, { stride(t)[2], stride(t)[1] })),
    f64)
end

-- A query's probabilities of products S(q, _) to P(q, _); returns the logarithm of their sum.
-- `sink` is one more score, or nil. Element (q, k) has the number q + k n_q; a table takes longer.
local function softmax_row(p, S, P, at, sink)
  local kind, operands, row, most = p.score.kind, p.score.operands, {}, sink or -math.huge
  local from, to = kind:range(operands, at.q, at.q + 1, at)
  for k = 0, at.n_k - 1 do
    at.k, at.base, at.offset = k, k, 0
    local is_seen = k >= (from or 0) and k < (to or at.n_k)
    is_seen = is_seen and kind:sees_by_function(operands, at) ~= false
    row[k] = not is_seen and -math.huge or kind:score(operands, S[at.q + k * at.n_q] * at.scale, at)
    most = math.max(most, row[k])
  end
  if most == -math.huge then return most end
  local sum = sink and math.exp(sink - most) or 0
  for k = 0, at.n_k - 1 do
    row[k] = math.exp(row[k] - most)
    sum = sum + row[k]
  end
  for k = 0, at.n_k - 1 do
    at.k = k
    local factor = kind.drops and row[k] > 0 and kind:kept_factor(operands, at) or 1
    P[at.q + k * at.n_q] = row[k] / sum * factor
  end
  return most + math.log(sum)
end

-- The same as internal.launch.attention, with what p.score says; `at` has h, b, n_q, n_k and scale.
local function compute_scored(p, Q, K, V, O, L, at)
  local S = reference.matmul(wide(Q), wide(K))
  local P = zeros(f64, layout { at.n_q, at.n_k })
  local sinks = p.score.sinks
  for q = 0, at.n_q - 1 do
    at.q = q
    L[q] = softmax_row(p, S, P, at, sinks and sinks[{ at.h, at.b }])
  end
  local made = reference.matmul(P, select(wide(V), 1, 0))
  for q = 0, at.n_q - 1 do
    for d = 0, p.depth_v - 1 do O[d + q * p.depth_v] = made[q + d * at.n_q] end
  end
end

-- Rows (D,S), each multiplied by its scale.
local function scaled(rows, scale, h, b)
  local out = zeros(f64, layout { size(rows, 0), size(rows, 1) })
  for s = 0, size(rows, 1) - 1 do
    local factor = scales.of_token(scale, s, h, b)
    for d = 0, size(rows, 0) - 1 do out[{ d, s }] = rows[{ d, s }] * factor end
  end
  return out
end

local function compute(p, lse, s, h, b, number)
  if s.n_q == 0 then return end
  local O, L = rows_of(p.O, s.q, s.n_q, h, b), elements_of(lse, s.q, s.n_q, h, b)
  local sinks = p.score and p.score.sinks
  if s.n_k == 0 then
    fill(O, 0)
    fill(L, sinks and sinks[{ h, number }] or -math.huge)
    return
  end
  local kv_head = h // (p.heads // p.kv_heads)
  local function keys_of(t)
    if p.page_size then return rows_of_pages(p, t, s.k, s.n_k, kv_head) end
    return rows_of(t, s.k, s.n_k, kv_head, b)
  end
  local Q, K, V = rows_of(p.Q, s.q, s.n_q, h, b), keys_of(p.K), keys_of(p.V)
  local scale = p.scale
  if p.scales then
    Q = scaled(Q, p.scales.q, h, number)
    K, V = scaled(K, p.scales.k, kv_head, number), scaled(V, p.scales.v, kv_head, number)
  end
  if p.score then
    compute_scored(p, Q, K, V, O, L, { h = h, b = number, n_q = s.n_q, n_k = s.n_k,
      scale = scale })
  else
    internal.launch.attention(Q, K, V, O, L, scale, p.causal)
  end
end

--- reference.attention(Q, K, V[, options]) -> O[, LSE]
function M.attention(Q, K, V, options)
  local p = problem.read("reference.attention", Q, K, V, options)
  local lse = p.LSE or tensor(f64, layout { size(p.O, 0), p.heads, p.batches })
  for b = 0, p.batches - 1 do
    for h = 0, p.heads - 1 do
      for i, s in ipairs(p.sequences or { { q = 0, n_q = p.n_q, k = 0, n_k = p.n_k } }) do
        compute(p, lse, s, h, b, p.sequences and i - 1 or b)
      end
    end
  end
  return p.out, p.lse
end

return M
