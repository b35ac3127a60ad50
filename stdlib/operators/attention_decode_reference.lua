-- attention_decode_reference.lua: reference.attention_decode: the keys and values that a query sees
-- are gathered in f64, and reference.attention computes. K and V stay as they are: new keys
-- and values are gathered behind the others.
local problem = require "cuttle.attention_decode_problem"
local formats = require "cuttle.row_formats"
local M = {}

local function on_host(t) return t.device == "cpu" and t or t:to "cpu" end

local function rounded_to(dtype, x) return reference.cast(full(f64, { 1 }, x), dtype)[0] end

-- The scale of n columns of a key that is appended, where each key has one, or each part of it.
local function own_scale(t, appended, k, h, b, first, n)
  local most = 0.0
  for d = first, first + n - 1 do most = math.max(most, math.abs(appended[{ k, d, h, b }])) end
  if most == 0.0 then return 1.0 end
  return rounded_to(f32, most / (formats.largest(t.dtype) or 1.0))
end

-- Element x of what is appended, as K or V then has it: divided by its scale in f32, and rounded.
local function rounded(x, t, scale)
  if scale == nil then return rounded_to(t.dtype, x) end
  x = rounded_to(f32, x / scale)
  if t.dtype ~= i8 then return rounded_to(t.dtype, x) end
  local nearest = math.floor(x + 0.5)
  if nearest - x == 0.5 and nearest % 2 == 1 then nearest = nearest - 1 end -- ties to even
  return math.max(-128, math.min(nearest, 127))
end

-- Of key k of sequence b in K or V, t, or in what is appended: functions of a head to its scale,
-- and of head, d and scale to an element.
local function row_of(p, t, appended, scale, b, k)
  local function of_head(h) return scale[{ h, b }] end
  if k >= p.n_old then
    local i = k - p.n_old
    local function of_key(h) return own_scale(t, appended, i, h, b, 0, size(t, 1)) end
    return p.by_token and of_key or of_head,
      function(h, d, by)
        return rounded(appended[{ i, d, h, b }], t, by)
      end
  end
  local row, page = k, b
  if p.table then row, page = k % p.page_size, p.table[{ k // p.page_size, b }] end
  return p.by_token and function(h) return scale[{ row, h, page }] end or of_head,
    function(h, d) return t[{ row, d, h, page }] end
end

-- The scale of element d of head h of key k, where parts of keys have scales.
local function scale_of_parts(p, t, appended, scale, groups, b, k)
  local n = size(t, 1) // groups
  if k >= p.n_old then
    return function(h, d) return own_scale(t, appended, k - p.n_old, h, b, d // n * n, n) end
  end
  local _, part = row_of(p, scale, nil, nil, b, k)
  return function(h, d) return part(h, d // n) end
end

-- (1,Hk,n,depth) in f64 of the keys in the list.
local function gathered(p, t, appended, scale, groups, b, keys, depth)
  local all = zeros(f64, row_major { 1, p.kv_heads, #keys, depth })
  for i, k in ipairs(keys) do
    local scale_of, element = row_of(p, t, appended, scale, b, k)
    local part_scale = groups and scale_of_parts(p, t, appended, scale, groups, b, k)
    for h = 0, p.kv_heads - 1 do
      local own = not groups and scale_of(h)
      for d = 0, size(t, 1) - 1 do
        local by = own or part_scale(h, d)
        all[{ 0, h, i - 1, d }] = element(h, d, (p.scaled or p.by_token) and by or nil) * by
      end
    end
  end
  return all
end

-- The last columns of keys that are appended, which K_rope gets.
local function new_rope(p)
  if not p.new_K then return nil end
  local extents, strides = { table.unpack(shape(p.new_K)) }, stride(p.new_K)
  extents[2] = p.depth - p.depth_k
  return view(p.new_K, layout(extents, strides), p.depth_k * strides[2])
end

-- Their last columns.
local function add_rope(p, all, b, keys)
  local last = p.K_rope and new_rope(p)
  for i, k in ipairs(p.K_rope and keys or {}) do
    local _, element = row_of(p, p.K_rope, last, nil, b, k)
    for h = 0, p.kv_heads - 1 do
      for d = p.depth_k, p.depth - 1 do all[{ 0, h, i - 1, d }] = element(h, d - p.depth_k) end
    end
  end
end

-- The place of a query and a key, as attention_score.lua takes it.
local function place_of(p, b, query, head, k)
  return { q = query, k = k, h = head, b = b, n_q = p.n_q, n_k = p.n_keys, base = k, offset = 0 }
end

-- Does a query see a key, but for what `score` says?
local function is_seen(p, b, query, k)
  if p.holes and p.table[{ k, b }] < 0 then return false end
  local own = k - (p.n_keys - p.n_q) -- its number among the last n_q ones, which are the queries'
  if own < 0 then return true end
  if not p.mask then return not p.causal or own <= query end
  local m = p.mask[{ own, query, b }]
  return m ~= 0 and m ~= false
end

-- What a query sees, as a list.
local function visible(p, b, query)
  local keys = {}
  for k = 0, p.n_keys - 1 do
    if is_seen(p, b, query, k) then keys[#keys + 1] = k end
  end
  return keys
end

-- (1,H,1,depth) in f64: one query of each head, filled up with zeros.
local function queries(p, b, query, depth)
  local q = zeros(f64, row_major { 1, p.heads, 1, depth })
  for h = 0, p.heads - 1 do
    for d = 0, p.depth - 1 do q[{ 0, h, 0, d }] = p.Q[{ query, d, h, b }] end
  end
  return q
end

-- What reference.attention is to do with the scores of a query and the keys in the list.
local function scores_of(p, b, query, keys)
  if not p.score then return {} end
  local kind, operands, sinks = p.score.kind, p.score.operands, nil
  if p.score.sinks then
    sinks = {}
    for h = 0, p.heads - 1 do sinks[h + 1] = p.score.sinks[{ h, b }] end
  end
  return { sinks = sinks,
    mask = function(_, i, h) return kind:sees(operands, place_of(p, b, query, h, keys[i + 1])) end,
    score = function(s, _, i, h)
      return kind:score(operands, s, place_of(p, b, query, h, keys[i + 1]))
    end }
end

local function compute(p, b, query)
  local depth, keys = math.max(p.depth, p.depth_v), visible(p, b, query)
  local q = queries(p, b, query, depth)
  local k = gathered(p, p.K, p.new_K, p.k_scale, p.k_groups, b, keys, depth)
  add_rope(p, k, b, keys)
  local v = gathered(p, p.V, p.new_V or p.new_K, p.v_scale, p.v_groups, b, keys, depth)
  local options = scores_of(p, b, query, keys)
  options.scale, options.lse = p.scale, zeros(f64, row_major { 1, p.heads, 1 })
  local o, lse = reference.attention(q, k, v, options)
  for h = 0, p.heads - 1 do
    for d = 0, p.depth_v - 1 do p.O[{ query, d, h, b }] = o[{ 0, h, 0, d }] end
    if p.LSE then p.LSE[{ query, h, b }] = lse[{ 0, h, 0 }] end
  end
end

-- The canonical problem with all that is read on the host.
local function to_host(p)
  for _, name in ipairs { "Q", "K", "V", "lengths", "table", "new_K", "new_V", "mask", "k_scale",
                          "v_scale", "K_rope" } do
    p[name] = p[name] and on_host(p[name])
  end
  if p.score then
    for i, x in ipairs(p.score.operands) do
      p.score.operands[i] = type(x) == "userdata" and on_host(x) or x
    end
    p.score.sinks = p.score.sinks and on_host(p.score.sinks)
  end
end

--- reference.attention_decode(Q, K, V[, options]) -> O[, LSE]
function M.attention_decode(Q, K, V, options)
  local p = problem.read("reference.attention_decode", Q, K, V, options)
  to_host(p)
  for b = 0, p.batches - 1 do
    local n = math.max(0, p.lengths[b])
    p.n_keys = math.min(n + p.n_new, p.capacity)
    p.n_old = p.new_K and n or p.n_keys
    for query = 0, p.n_q - 1 do compute(p, b, query) end
  end
  return p.out, p.lse
end

return M
