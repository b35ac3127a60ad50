-- attention_decode_problem.lua: what attention_decode and its reference are given, checked, in
-- canonical form:
--   Q, O       (S,D,H,B), (S,Dv,H,B), views; LSE (S,H,B), or nil
--   K, V       (Sk,D,Hk,B), (Sk,Dv,Hk,B); with pages (page size,D,Hk,pages), and `table` (n,B)
--   lengths    (B) i32; capacity: the most keys that a sequence has room for
--   is_latent  values are the first columns of K, in the same memory
--   new_K, new_V  (S,D,Hk,B), to be appended, or nil; n_new: their number. new_K has the columns of
--              K_rope, too. Only new_V is nil: its values are columns of new_K
--   mask       (keys,queries,B), or nil
--   K_rope     the last columns of keys, like K, or nil
--   k_scale, v_scale  (Hk,B) f32; by_token: (Sk,Hk,B), as K and V lie without their depth; or, of
--              parts of keys, like K and V, of k_groups and v_groups columns
--   batches, heads, kv_heads, group, n_q, depth, depth_v, page_size; depth_k: of K
--   holes      negative numbers of `table` are left out: pages have one key, none is appended, and
--              nothing goes by the places of keys
--   causal, scale, lazy, config, bits, stream, dtype, device
--   score      what attention_score_options.lua reads of `n_k` keys, the capacity; nil: nothing
--   out, lse   the tensors that the caller gets
local internal = ...
local tiles = require "cuttle.tiles"
local arguments = require "cuttle.arguments"
local overlap = require "cuttle.overlap"
local scales = require "cuttle.attention_scales"
local scores = require "cuttle.attention_score_options"
local on_device = require "cuttle.operator_device"
local operands = require "cuttle.attention_operands"
local M = {}

local op = "attention_decode"

local function fail(format, ...) tiles.fail(op, format, ...) end

local known_options <const> =
  { "alibi", "bias", "bits", "block_table", "cache_seqlens", "causal", "config", "holes", "k",
    "k_rope", "k_scale", "lazy", "lse", "mask", "operands", "out", "scale", "score", "sinks",
    "softcap", "stream", "tree_mask", "v", "v_scale", "window" }

-- {====== Tensors ======

local arranged <const>, given <const>, rows_first <const> = operands.arranged, operands.given,
  operands.rows_first

-- An operand, on the device of Q, if that is known.
local function operand(x, name, modes, q)
  local t = operands.read(op, x, name, modes)
  if q then operands.check_device(op, t, q) end
  return t
end

local function check_extents(t, extents, why)
  for i, n in ipairs(extents) do
    if t.extent[i] ~= n then
      fail("%s is %s; expected (%s)%s", t.name, given(t), table.concat(extents, ","), why or "")
    end
  end
end

local function check_type(t, dtype) operands.check_type(op, t, dtype) end

-- {====== Operands ======

-- Q, and whether it came without the mode S.
local function read_queries(Q)
  arguments.check_tensor(op, Q, "Q", "(B,H,S,D)", op .. " launches kernels itself")
  if rank(Q) ~= 3 then return operand(Q, "Q", "B,H,S,D"), false end
  local q = operand(Q, "Q", "B,H,D")
  table.insert(q.extent, 3, 1)
  table.insert(q.stride, 3, 0)
  return q, true
end

local element_types <const> = { i8 = true }

local function check_types(q, k, v)
  local own = q.tensor.dtype
  if not own.is_float or own == f64 or own.bits < 16 then
    fail("Q is %s; expected f32, f16 or bf16", own)
  end
  check_type(v, k.tensor.dtype)
  local dtype = k.tensor.dtype
  if dtype == f64 or not (dtype.is_float or element_types[dtype.name]) then
    fail("K is %s; expected a float type or i8", dtype)
  end
end

-- Batches or pages, heads and keys of K.
local function places_of(k) return table.move(k.extent, 1, 3, 1, {}) end

-- Keys with the columns of k_rope, too.
local function whole_keys(q, k, rope)
  if rope == nil then return k end
  check_type(rope, q.tensor.dtype)
  check_extents(rope, places_of(k), " and a depth, as K is " .. given(k))
  local depth = k.extent[4] + rope.extent[4]
  if q.extent[4] ~= depth then
    fail("Q is %s, but K %s and k_rope %s have %d columns; expected as many as Q has", given(q),
      given(k), given(rope), depth)
  end
  local extent = places_of(k)
  extent[4] = depth
  return { extent = extent, tensor = k.tensor }
end

local function check_heads(q, k, v, rope)
  operands.check_heads(op, q, whole_keys(q, k, rope))
  check_extents(v, places_of(k), " and a depth, as K is " .. given(k))
end

-- {====== Options ======

local function check_kinds(options)
  if options.scale ~= nil then scales.check_number(op, options.scale, "scale") end
  if options.tree_mask ~= nil and options.causal then
    fail("causal = true and tree_mask both say which queries see which; leave out one")
  end
end

-- Without cache_seqlens each sequence has all of K's keys.
local lengths_of = {}

local function full_lengths(n_sequences, n, device)
  local key = ("%d %d %s"):format(n_sequences, n, device)
  if not lengths_of[key] then
    local row = {}
    for i = 1, n_sequences do row[i] = n end
    lengths_of[key] = internal.launch.table_on(i32, row, nil, device)
  end
  return lengths_of[key]
end

local function read_lengths(p, q, options)
  if options.cache_seqlens == nil then
    if options.block_table ~= nil or options.k ~= nil then
      fail("cache_seqlens is missing; %s needs the keys that each sequence has",
        options.k ~= nil and "appending" or "a block_table")
    end
    return full_lengths(p.batches, p.capacity, p.device)
  end
  local t = operand(options.cache_seqlens, "cache_seqlens", "B", q)
  check_type(t, i32)
  check_extents(t, { p.batches })
  return arranged(t, { 1 })
end

local function read_table(q, k, options)
  if options.block_table == nil then
    if k.extent[1] ~= q.extent[1] then
      fail("Q is %s and K is %s; mode 0, the batches, must be equal, or a block_table be given",
        given(q), given(k))
    end
    return nil, k.extent[3]
  end
  local t = operands.read_table(op, options.block_table, q, k)
  check_extents(t, { q.extent[1] })
  if t.extent[2] == 0 then
    fail("block_table is %s; a sequence needs at least one page", given(t))
  end
  return arranged(t, { 2, 1 }), t.extent[2] * k.extent[3]
end

local by_place <const> = { "alibi", "bias", "causal", "k", "mask", "score", "tree_mask", "window" }

local function read_holes(p, k, options)
  if not options.holes then return false end
  if p.page_size ~= 1 then
    fail("holes are numbers of pages of one key, (pages,Hk,1,D), but K is %s%s", given(k),
      p.table and "" or " without a block_table")
  end
  for _, name in ipairs(by_place) do
    if options[name] then
      fail("%s goes by the places of keys, which a list with holes does not have; leave out %s or "
        .. "holes", name, name)
    end
  end
  return true
end

-- A scale of each key, or of each part of its columns: like t, which is K or V.
local function read_key_scales(q, x, name, t)
  local scale = operand(x, name, "B,Hk,S,n", q)
  check_type(scale, f32)
  check_extents(scale, places_of(t), (" and parts of a row, as %s is %s"):format(t.name, given(t)))
  local n = scale.extent[4]
  if n == 0 or t.extent[4] % n ~= 0 then
    fail("%s is %s; its last mode must divide the depth of %s, %d", name, given(scale), t.name,
      t.extent[4])
  end
  return rows_first(scale), n
end

-- The scale of K or V: a number, a tensor of one element, (Hk) or (B,Hk): (Hk,B); or a scale of
-- each key, and the parts of its columns.
local function read_scale(p, q, x, name, of)
  if x == nil or type(x) == "number" then
    if x then scales.check_number(op, x, name) end
    return view(internal.launch.table_on(f32, { x or 1.0 }, nil, p.device),
      layout({ p.kv_heads, p.batches }, { 0, 0 }))
  end
  local n_modes = tiles.type_name(x) == "tensor" and rank(x) or 1
  if n_modes == 4 then return read_key_scales(q, x, name, of) end
  local t = operand(x, name, n_modes == 2 and "B,Hk" or "Hk", q)
  check_type(t, f32)
  if n_modes == 2 then
    check_extents(t, { p.batches, p.kv_heads })
    return arranged(t, { 2, 1 })
  end
  if t.extent[1] ~= 1 then check_extents(t, { p.kv_heads }, ", one scale for each head") end
  return view(x, layout({ p.kv_heads, p.batches }, { t.extent[1] == 1 and 0 or t.stride[1], 0 }))
end

-- The scales of each key, (Sk,Hk,B), or with pages (page size,Hk,pages).
local function read_token_scale(q, x, name, of)
  local t = operand(x, name, "B,Hk,Sk", q)
  check_type(t, f32)
  check_extents(t, places_of(of), ", one scale for each key, as K has " .. given(of))
  return arranged(t, { 3, 2, 1 })
end

local function is_by_token(x) return tiles.type_name(x) == "tensor" and rank(x) == 3 end

local function read_scales(p, q, k, v, options)
  local k_scale, v_scale = options.k_scale, options.v_scale
  p.by_token = is_by_token(k_scale)
  if p.by_token ~= is_by_token(v_scale) then
    fail("%s has a scale for each key, and %s has not; expected both or none",
      p.by_token and "k_scale" or "v_scale", p.by_token and "v_scale" or "k_scale")
  elseif p.by_token then
    p.k_scale = read_token_scale(q, k_scale, "k_scale", k)
    p.v_scale = read_token_scale(q, v_scale, "v_scale", k)
    return
  end
  p.scaled = k_scale ~= nil or v_scale ~= nil
  p.k_scale, p.k_groups = read_scale(p, q, k_scale, "k_scale", k)
  p.v_scale, p.v_groups = read_scale(p, q, v_scale, "v_scale", v)
end

local function read_new(p, q, x, name, depth)
  local t = operand(x, name, "B,Hk,S,D", q)
  check_type(t, p.dtype)
  check_extents(t, { p.batches, p.kv_heads, t.extent[3], depth })
  return t
end

local function read_appended(p, q, options)
  p.n_new = 0
  if options.k == nil and options.v == nil then return end
  if options.k == nil or options.v == nil and not p.is_latent then
    fail("%s is missing; keys and values are appended together, but where V is columns of K only "
      .. "k", options.k and "v" or "k")
  end
  local k = read_new(p, q, options.k, "k", p.depth)
  p.new_K, p.n_new = rows_first(k), k.extent[3]
  if options.v == nil then return end
  local v = read_new(p, q, options.v, "v", p.depth_v)
  check_extents(v, { p.batches, p.kv_heads, k.extent[3] }, ", as k has as many")
  p.new_V = rows_first(v)
end

local function read_mask(p, q, mask)
  if mask == nil then return nil end
  local t = operand(mask, "tree_mask", "B,queries,keys", q)
  if t.tensor.dtype ~= u8 and t.tensor.dtype ~= bool then
    fail("tree_mask is %s; expected bool or u8", t.tensor.dtype)
  end
  check_extents(t, { p.batches, p.n_q, p.n_q })
  return arranged(t, { 3, 2, 1 })
end

-- {====== Results ======

local function check_apart(t, others)
  arguments.check_distinct(op, t)
  arguments.check_apart(op, t, others)
end

-- O of Q's modes, of depth Dv; is_flat: without S.
local function read_result(p, q, is_flat, out)
  local extents = { p.batches, p.heads, p.n_q, p.depth_v }
  if is_flat then table.remove(extents, 3) end
  if out == nil then out = on_device.new(p.device, p.dtype, row_major(extents)) end
  local t = operand(out, "out", is_flat and "B,H,D" or "B,H,S,D", q)
  check_extents(t, extents)
  if out.dtype ~= p.dtype and out.dtype ~= f32 then
    fail("out is %s; expected %s or f32", out.dtype, p.dtype)
  end
  if is_flat then
    table.insert(t.extent, 3, 1)
    table.insert(t.stride, 3, 0)
  end
  return t, out
end

local function read_lse(p, q, is_flat, lse)
  if not lse then return nil end
  local extents = { p.batches, p.heads, p.n_q }
  if is_flat then table.remove(extents, 3) end
  if lse == true then lse = on_device.new(p.device, f32, row_major(extents)) end
  local t = operand(lse, "lse", is_flat and "B,H" or "B,H,S", q)
  check_extents(t, extents)
  check_type(t, f32)
  return t, lse
end

-- {====== The canonical problem ======

-- Are values the first columns of keys?
local function are_columns(K, V)
  for mode = 0, 3 do
    if size(K, mode) > 1 and stride(K, mode) ~= stride(V, mode) and size(V, mode) > 1 then
      return false
    end
  end
  return size(V, 1) <= size(K, 1) and overlap.begin_together(K, V)
end

local function new_problem(q, k, v, options)
  local p = operands.problem(q, k, v, options)
  p.kv_dtype, p.group, p.depth_k = k.tensor.dtype, p.heads // p.kv_heads, k.extent[4]
  return p
end

--- The problem of attention_decode(Q, K, V, options), for messages of `who`.
function M.read(who, Q, K, V, options)
  op = who
  options = arguments.options(op, options, known_options, "{cache_seqlens = lengths}")
  check_kinds(options)
  local q, is_flat = read_queries(Q)
  local k, v = operand(K, "K", "B,Hk,S,D", q), operand(V, "V", "B,Hk,S,D", q)
  local rope = options.k_rope ~= nil and operand(options.k_rope, "k_rope", "B,Hk,S,D", q) or nil
  check_types(q, k, v)
  check_heads(q, k, v, rope)
  local p = new_problem(q, k, v, options)
  p.K_rope, p.is_latent = rope and rows_first(rope), are_columns(p.K, p.V)
  p.table, p.capacity = read_table(q, k, options)
  p.page_size = p.table and k.extent[3] or nil
  p.holes = read_holes(p, k, options)
  p.lengths = read_lengths(p, q, options)
  read_appended(p, q, options)
  p.mask = read_mask(p, q, options.tree_mask)
  p.n_k = p.capacity
  p.score = scores.read(op, options, p)
  read_scales(p, q, k, v, options)
  local o, lse
  o, p.out = read_result(p, q, is_flat, options.out)
  lse, p.lse = read_lse(p, q, is_flat, options.lse)
  check_apart(o, { q, k, v, lse, rope })
  if lse then check_apart(lse, { q, k, v, rope }) end
  p.O, p.LSE = rows_first(o), lse and arranged(lse, { 3, 2, 1 })
  return p
end

return M
