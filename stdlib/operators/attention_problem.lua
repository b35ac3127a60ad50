-- attention_problem.lua: what attention and its reference are given, checked, in canonical form:
--   Q, O     (Sq,D,Hq,B), (Sq,Dv,Hq,B), views; K, V (Sk,D,Hk,B), (Sk,Dv,Hk,B)
--   LSE      (Sq,Hq,B), or nil
--   batches  B, heads Hq, kv_heads Hk, depth D, depth_v Dv; n_q, n_k: the longest sequence's
--            queries and keys
--   sequences  of packed ones, where B is 1: {q =, n_q =, k =, n_k =} each, first row and length
--   page_size  of keys and values in pages, nil: there are none. K and V are then (page size,D,Hk,
--            pages), `table` (n,sequences) has the pages of each sequence, and `k` of a sequence is
--            its number
--   causal, scale, lazy, config, bits, dtype, device
--   scales   of operands of 8 bits, as attention_scales.lua reads them; nil: there are none
--   score    what attention_score_options.lua reads, which has causal too; nil: there is no more
--   out, lse   the tensors that the caller gets
-- Of gradients dO, dQ, dK and dV too, as O, Q, K and V; `deterministic`; and `results`, which the
-- caller gets.
local tiles = require "cuttle.tiles"
local arguments = require "cuttle.arguments"
local scales = require "cuttle.attention_scales"
local scores = require "cuttle.attention_score_options"
local on_device = require "cuttle.operator_device"
local operands = require "cuttle.attention_operands"
local M = {}

local op = "attention"

local function fail(format, ...) tiles.fail(op, format, ...) end

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

-- {====== Options ======

local function with_scores(names)
  table.move(scores.names, 1, #scores.names, #names + 1, names)
  table.sort(names)
  return names
end

local known_options <const> = with_scores { "bits", "block_table", "cache_seqlens", "causal",
  "config", "cu_seqlens_k", "cu_seqlens_q", "k_scale", "lazy", "lse", "out", "q_scale", "scale",
  "stream", "v_scale" }

local gradient_options <const> = with_scores { "causal", "config", "cu_seqlens_k",
  "cu_seqlens_q", "deterministic", "k_scale", "out", "q_scale", "scale", "stream", "v_scale" }

local function read_options(options, known)
  options = arguments.options(op, options, known, "{causal = true}")
  if options.scale ~= nil then scales.check_number(op, options.scale, "scale") end
  return options
end

-- {====== Tensors ======

local as_given <const> = operands.given

local function operand(x, name, modes) return operands.read(op, x, name, modes) end

-- The modes (H,S,D), and B before them where there are batches, of an operand.
local function with_batches(t)
  if t.batched then return t end
  table.insert(t.extent, 1, 1)
  table.insert(t.stride, 1, 0)
  t.batched = true
  return t
end

local function check_shapes(q, k, v, has_pages)
  if has_pages and v.extent[1] ~= k.extent[1] then
    fail("K is %s and V is %s; they must have the same pages", as_given(k), as_given(v))
  elseif not has_pages and (k.extent[1] ~= q.extent[1] or v.extent[1] ~= q.extent[1]) then
    fail("Q is %s, K is %s and V is %s; mode 0, the batches, must be equal", as_given(q),
      as_given(k), as_given(v))
  elseif v.extent[2] ~= k.extent[2] or v.extent[3] ~= k.extent[3] then
    fail("K is %s and V is %s; they must have the same heads and the same length S", as_given(k),
      as_given(v))
  end
  operands.check_heads(op, q, k)
  if v.extent[4] == 0 then
    fail("V is %s; the last mode, the depth of a value, must be at least 1", as_given(v))
  end
end

local function check_types(q, k, v)
  local dtype = q.tensor.dtype
  for _, t in ipairs { k, v } do
    if t.tensor.dtype ~= dtype then
      fail("Q is %s but %s is %s; the element types must be equal", dtype, t.name, t.tensor.dtype)
    end
    operands.check_device(op, t, q)
  end
  if not dtype.is_float then
    fail("the elements are %s; expected a float type", dtype)
  end
end

-- {====== Results ======

-- That t has the first modes of `like`.
local function check_same(t, like)
  for i, n in ipairs(t.extent) do
    if like.given[i] ~= n then
      fail("%s is %s; expected (%s), as %s", t.name, as_given(t),
        table.concat(like.given, ",", 1, #t.extent),
        like.said or ("%s is %s"):format(like.name, like.tensor.layout))
    end
  end
end

-- A tensor of the shape of `like`.
local function operand_like(like, t, name)
  local r = operand(t, name, #like.given == 3 and "H,S,D" or "B,H,S,D")
  check_same(r, like)
  return r
end

-- The same for results, that given or a new one, of type `dtype`, nil: that of `like`.
local function to_result(like, t, name, dtype)
  local as = like.tensor
  if t == nil then t = on_device.new(as.device, dtype or as.dtype, row_major(like.given)) end
  local r = operand_like(like, t, name)
  arguments.check_distinct(op, r)
  return r
end

-- What O and dO are like: Q, of the depth of V.
local function like_O(q, v)
  local depth_v = v.given[#v.given]
  if depth_v == q.given[#q.given] then return q end
  local given = table.move(q.given, 1, #q.given, 1, {})
  given[#given] = depth_v
  return { given = given, tensor = q.tensor,
           said = ("Q is %s and V is %s"):format(as_given(q), as_given(v)) }
end

local function lse_of(q, lse, name)
  local t = operand(lse, name, #q.given == 3 and "H,S" or "B,H,S")
  check_same(t, q)
  if lse.dtype ~= f32 and lse.dtype ~= f64 then
    fail("%s is %s; expected f32", name, lse.dtype)
  end
  return t
end

-- LSE (B,H,S) f32: true makes a new one.
local function to_lse(q, lse)
  if not lse then return nil end
  if lse == true then
    local extents = table.move(q.given, 1, #q.given - 1, 1, {})
    lse = on_device.new(q.tensor.device, f32, row_major(extents))
  end
  if not is_tensor(lse) then
    fail("lse is of type %s; expected true, for a new tensor, or a tensor of f32",
      tiles.type_name(lse))
  end
  local t = lse_of(q, lse, "lse")
  arguments.check_distinct(op, t)
  return t
end

-- The inputs begin with Q.
local function check_results(results, inputs)
  for _, r in ipairs(results) do
    operands.check_device(op, r, inputs[1])
    arguments.check_apart(op, r, inputs)
  end
end

-- {====== Packed sequences ======

local function integers(x, name)
  if is_tensor(x) then x = x:totable() end
  if type(x) ~= "table" then
    fail("%s is of type %s; expected a table or tensor of integers, 0 first and the number of "
      .. "tokens last", name, tiles.type_name(x))
  end
  return x
end

-- The B + 1 places where sequences begin, the last one the number of rows.
local function starts_of(x, name, n_rows)
  local starts = integers(x, name)
  for i, at in ipairs(starts) do
    if math.type(at) ~= "integer" or at < (starts[i - 1] or 0) then
      fail("entry %d of %s is %s; expected integers that do not decrease", i - 1, name, at)
    end
  end
  if #starts < 2 or starts[1] ~= 0 or starts[#starts] ~= n_rows then
    fail("%s begins with %s and ends with %s; expected 0 and %d, the rows of %s", name,
      starts[1], starts[#starts], n_rows, name == "cu_seqlens_q" and "Q" or "K")
  end
  return starts
end

local function to_sequences(q, k, options)
  local cu_q, cu_k = options.cu_seqlens_q, options.cu_seqlens_k
  if cu_q == nil and cu_k == nil then return nil end
  if cu_q == nil or cu_k == nil then
    fail("cu_seqlens_%s is missing; packed sequences need cu_seqlens_q and cu_seqlens_k",
      cu_q and "k" or "q")
  elseif #q.given ~= 3 then
    fail("Q is %s; packed sequences are (H,T,D), T the tokens of all of them", as_given(q))
  end
  local from_q = starts_of(cu_q, "cu_seqlens_q", q.extent[3])
  local from_k = starts_of(cu_k, "cu_seqlens_k", k.extent[3])
  if #from_q ~= #from_k then
    fail("cu_seqlens_q has %d entries but cu_seqlens_k has %d; expected as many sequences",
      #from_q, #from_k)
  end
  local list = {}
  for i = 1, #from_q - 1 do
    list[i] = { q = from_q[i], n_q = from_q[i + 1] - from_q[i],
                k = from_k[i], n_k = from_k[i + 1] - from_k[i] }
  end
  return list
end

-- The same as to_sequences where keys are in pages.
local function to_paged_sequences(q, pages, page_size, options)
  if options.cu_seqlens_k ~= nil then
    fail("cu_seqlens_k is of keys that lie one after the other; of pages, cache_seqlens has the "
      .. "lengths")
  end
  for _, name in ipairs { "cu_seqlens_q", "cache_seqlens" } do
    if options[name] == nil then fail("%s is missing; a block_table needs it", name) end
  end
  local from, lengths = starts_of(options.cu_seqlens_q, "cu_seqlens_q", q.extent[3]),
    integers(options.cache_seqlens, "cache_seqlens")
  local n, room = #from - 1, size(pages, 0) * page_size
  if #lengths ~= n or size(pages, 1) ~= n then
    fail("cu_seqlens_q has %d entries, cache_seqlens %d and block_table is %s; expected as many "
      .. "sequences", #from, #lengths, tostring(shape(options.block_table)))
  end
  local list = {}
  for i, length in ipairs(lengths) do
    if math.type(length) ~= "integer" or length < 0 or length > room then
      fail("entry %d of cache_seqlens is %s; expected 0 to %d, the keys of a sequence's pages",
        i - 1, length, room)
    end
    list[i] = { q = from[i], n_q = from[i + 1] - from[i], k = i - 1, n_k = length }
  end
  return list
end

local function longest(sequences, key)
  local most = 0
  for _, s in ipairs(sequences) do most = math.max(most, s[key]) end
  return most
end

-- {====== The canonical problem ======

-- The operands Q, K and V, checked.
local function read_operands(Q, K, V, has_pages)
  arguments.check_tensor(op, Q, "Q", "(B,H,S,D)", op .. " launches kernels itself")
  local modes = (rank(Q) == 3 or has_pages) and "H,S,D" or "B,H,S,D"
  local of_keys = has_pages and "pages,H,S,D" or modes
  local q, k, v = operand(Q, "Q", modes), operand(K, "K", of_keys), operand(V, "V", of_keys)
  for _, t in ipairs { q, k, v } do t.given = table.move(t.extent, 1, #t.extent, 1, {}) end
  check_types(q, k, v)
  for _, t in ipairs { q, k, v } do
    t.batched = #t.extent == 4
    with_batches(t)
  end
  check_shapes(q, k, v, has_pages)
  return q, k, v
end

-- Of a tensor (B,H,S,D), or (H,S,D): (S,D,H,B).
local function rows_first(t)
  t.batched = #t.extent == 4
  return operands.rows_first(with_batches(t))
end

local function lse_rows_first(t)
  t.batched = #t.extent == 3
  return operands.arranged(with_batches(t), { 3, 2, 1 })
end

local function problem_of(q, k, v, sequences, options)
  local p = operands.problem(q, k, v, options)
  p.sequences, p.n_k = sequences, k.extent[3]
  if sequences then p.n_q, p.n_k = longest(sequences, "n_q"), longest(sequences, "n_k") end
  return p
end

--- The problem of attention(Q, K, V, options), for messages of `who`.
function M.read(who, Q, K, V, options)
  op = who
  options = read_options(options, known_options)
  local has_pages = options.block_table ~= nil
  if options.cache_seqlens ~= nil and not has_pages then
    fail("block_table is missing; cache_seqlens is of sequences in pages")
  end
  local q, k, v = read_operands(Q, K, V, has_pages)
  local pages, page_size, sequences
  if has_pages then
    local own = operands.read_table(op, options.block_table, q, k)
    pages, page_size = operands.arranged(own, { 2, 1 }), k.extent[3]
    sequences = to_paged_sequences(q, pages, page_size, options)
  else
    sequences = to_sequences(q, k, options)
  end
  local o = to_result(like_O(q, v), options.out, "out", q.tensor.dtype.bits == 8 and bf16 or nil)
  local lse = to_lse(q, options.lse)
  check_results({ o, lse }, { q, k, v })
  local p = problem_of(q, k, v, sequences, options)
  p.table, p.page_size = pages, page_size
  p.out, p.lse = o.tensor, lse and lse.tensor
  p.O, p.LSE = rows_first(o), lse and lse_rows_first(lse)
  p.scales, p.score = scales.read(op, options, p), scores.read(op, options, p)
  return p
end

-- Of the option `out`, a list of the gradients in order.
local function given_gradients(out)
  if out == nil then return {} end
  if type(out) ~= "table" or #out ~= 3 then
    fail("out is %s; expected a list of three tensors, {dQ, dK, dV}",
      type(out) == "table" and ("a list of %d"):format(#out)
      or "of type " .. tiles.type_name(out))
  end
  return out
end

--- The problem of attention_backward(dO, Q, K, V, O, LSE, options), for messages of `who`.
function M.read_backward(who, dO, Q, K, V, O, LSE, options)
  op = who
  options = read_options(options, gradient_options)
  local q, k, v = read_operands(Q, K, V)
  if LSE == nil then
    fail("LSE is missing; expected the tensor that attention(Q, K, V, {lse = true}) returns second")
  end
  local given = given_gradients(options.out)
  local like = like_O(q, v)
  local o, grad = operand_like(like, O, "O"), operand_like(like, dO, "dO")
  local lse = lse_of(q, LSE, "LSE")
  local results = { to_result(q, given[1], "dQ", dO.dtype), to_result(k, given[2], "dK", dO.dtype),
                    to_result(v, given[3], "dV", dO.dtype) }
  if dO.dtype ~= Q.dtype and not (Q.dtype == f8e4m3 and dO.dtype.is_float) then
    fail("Q is %s but dO is %s; the element types must be equal", Q.dtype, dO.dtype)
  end
  for _, t in ipairs { grad, o, lse } do operands.check_device(op, t, q) end
  for i, r in ipairs(results) do
    check_results({ r }, { q, k, v, o, grad, lse, table.unpack(results, 1, i - 1) })
  end
  local p = problem_of(q, k, v, to_sequences(q, k, options), options)
  p.deterministic, p.scales = options.deterministic or false, scales.read(op, options, p)
  if p.scales and dO.dtype == f8e4m3 then
    fail("there are scales, and dO is f8e4m3; expected dO of a wider type, as bf16")
  end
  p.score = scores.read(op, options, p)
  if p.score and p.score.kind.lacks_gradient then
    fail("the derivative of `score` is missing; give {score_gradient = function(s, q, k, h, b, "
      .. "operands...) ... end}")
  end
  p.O, p.dO, p.LSE = rows_first(o), rows_first(grad), lse_rows_first(lse)
  p.results, p.dQ, p.dK, p.dV = {}, rows_first(results[1]), rows_first(results[2]),
    rows_first(results[3])
  for i, t in ipairs(results) do p.results[i] = t.tensor end
  return p
end

return M
