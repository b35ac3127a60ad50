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

-- The row and the page of key k of sequence b.
local function place_in_cache(p, b, k)
  if not p.table then return k, b end
  return k % p.page_size, p.table[{ k // p.page_size, b }]
end

-- The scale of column d of head h of key k of sequence b.
local function scale_of(p, t, appended, scale, groups, b, k)
  local n = groups and size(t, 1) // groups
  if k >= p.n_old and (groups or p.by_token) then
    local known = {}
    return function(h, d)
      local first = n and d // n * n or 0
      local place = h * size(t, 1) + first
      known[place] = known[place]
        or own_scale(t, appended, k - p.n_old, h, b, first, n or size(t, 1))
      return known[place]
    end
  end
  local row, page = place_in_cache(p, b, k)
  if groups then return function(h, d) return scale[{ row, d // n, h, page }] end end
  if p.by_token then return function(h) return scale[{ row, h, page }] end end
  return function(h) return scale[{ h, b }] end
end

-- Puts key k of sequence b, of K or V, t, or of what is appended, into `to`, (d,h) in f64.
local function put_key(p, t, appended, scale_at, b, k, to)
  if k < p.n_old then
    local row, page = place_in_cache(p, b, k)
    copy(reference.cast(t(row, _, _, page), f64), to)
    return
  end
  for h = 0, p.kv_heads - 1 do
    for d = 0, size(t, 1) - 1 do
      local by = scale_at and (p.scaled or p.by_token) and scale_at(h, d) or nil
      to[{ d, h }] = rounded(appended[{ k - p.n_old, d, h, b }], t, by)
    end
  end
end

-- Multiplies the columns of each head that have a scale together.
local function put_scales(p, scale_at, together, to)
  for h = 0, p.kv_heads - 1 do
    for first = 0, size(to, 0) - 1, together do
      local by = scale_at(h, first)
      if by ~= 1.0 then
        transform(view(to(_, h), layout(together), first), function(x) return x * by end)
      end
    end
  end
end

-- Where key i, from 1 on, lies in `all`, (1,H,keys,depth): its columns from `first` on, (n,H).
local function key_in(all, i, first, n)
  local strides = stride(all)
  return view(all, layout({ n, size(all, 1) }, { strides[4], strides[2] }),
    (i - 1) * strides[3] + first * strides[4])
end

-- (1,Hk,n,depth) in f64 of the keys in the list.
local function gathered(p, t, appended, scale, groups, b, keys, depth)
  local all, n = zeros(f64, row_major { 1, p.kv_heads, #keys, depth }), size(t, 1)
  for i, k in ipairs(keys) do
    local to, scale_at = key_in(all, i, 0, n), scale_of(p, t, appended, scale, groups, b, k)
    put_key(p, t, appended, scale_at, b, k, to)
    put_scales(p, scale_at, groups and n // groups or n, to)
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
    put_key(p, p.K_rope, last, nil, b, k, key_in(all, i, p.depth_k, p.depth - p.depth_k))
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
  copy(reference.cast(p.Q(query, _, _, b), f64), key_in(q, 1, 0, p.depth))
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
