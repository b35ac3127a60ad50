-- attention_reference.lua: reference.attention: softmax(scale Q K') V head by head on the host, in
-- double precision from the first product to the last sum, rounded once.
local internal = ...
local problem = require "cuttle.attention_problem"
local M = {}

-- Rows [first, first + n) of head h of t (S,D,H,B), as (D,S): a row's elements come first.
local function rows_of(t, first, n, h, b)
  local head = t(_, _, h, b)
  local depth, stride = size(head, 1), stride(head)
  return view(tile(head, { 1, depth }, { first, 0 }),
    layout({ depth, n }, { stride[2], stride[1] }))
end

local function elements_of(t, first, n, h, b)
  local row = t(_, h, b)
  return view(tile(row, { 1 }, { first }), layout({ n }, stride(row)))
end

local function compute(p, lse, s, h, b)
  if s.n_q == 0 then return end
  local O, L = rows_of(p.O, s.q, s.n_q, h, b), elements_of(lse, s.q, s.n_q, h, b)
  if s.n_k == 0 then
    fill(O, 0)
    fill(L, -math.huge)
    return
  end
  local kv_head = h // (p.heads // p.kv_heads)
  internal.launch.attention(rows_of(p.Q, s.q, s.n_q, h, b), rows_of(p.K, s.k, s.n_k, kv_head, b),
    rows_of(p.V, s.k, s.n_k, kv_head, b), O, L, p.scale, p.causal)
end

--- reference.attention(Q, K, V[, options]) -> O[, LSE]
function M.attention(Q, K, V, options)
  local p = problem.read("reference.attention", Q, K, V, options)
  local lse = p.LSE or tensor(f64, layout { size(p.O, 0), p.heads, p.batches })
  for b = 0, p.batches - 1 do
    for h = 0, p.heads - 1 do
      for _, s in ipairs(p.sequences or { { q = 0, n_q = p.n_q, k = 0, n_k = p.n_k } }) do
        compute(p, lse, s, h, b)
      end
    end
  end
  return p.out, p.lse
end

return M
