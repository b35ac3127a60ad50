-- attention_score_options.lua: the options of attention that change scores or hide keys, checked:
-- what attention_score.lua calls a kind, and its operands.
local arguments = require "cuttle.arguments"
local dropping = require "cuttle.dropout"
local scores = require "cuttle.attention_score"
local tiles = require "cuttle.tiles"
local on_device = require "cuttle.operator_device"
local M = {}

M.names = { "alibi", "bias", "documents", "dropout", "mask", "operands", "score", "score_gradient",
            "seed", "sinks", "softcap", "window" }

local op = "attention"

local function fail(format, ...) tiles.fail(op, format, ...) end

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

-- {====== Tensors ======

local function check_place(x, name, p)
  if x.device ~= p.device then
    fail("%s is on %s but Q is on %s; expected all on one device", name, x.device, p.device)
  end
end

-- Tensors of a table of numbers, or the tensor.
local function to_tensor(x, name, dtype, modes, p)
  if type(x) == "table" then
    return on_device.bring(p.device, from_table(dtype, x))
  end
  arguments.check_tensor(op, x, name, modes, "attention launches kernels itself")
  check_place(x, name, p)
  return x
end

-- A view of x with all extents, in this order: a mode of x that is missing, or of extent 1, has all
-- elements the same. `wanted` are the extents from the first mode on, `order` their places.
local function spread(x, name, wanted, order, modes)
  local t, n = arguments.describe(op, x, name), #wanted
  local extent, stride = {}, {}
  for i = 1, n do
    local own = t.extent[i - n + #t.extent]
    if #t.extent > n or own ~= nil and own ~= 1 and own ~= wanted[i] then
      fail("%s is %s; expected %s, here (%s), or modes of 1 or fewer modes for equal elements",
        name, tostring(shape(x)), modes, table.concat(wanted, ","))
    end
    extent[i], stride[i] = wanted[i], own == wanted[i] and t.stride[i - n + #t.extent] or 0
  end
  local e, s = {}, {}
  for i, at in ipairs(order) do e[i], s[i] = extent[at], stride[at] end
  return view(x, layout(e, s))
end

local function check_float(x, name)
  if not x.dtype.is_float then fail("%s is %s; expected a float type", name, x.dtype) end
end

local function n_sequences(p) return p.sequences and #p.sequences or p.batches end

-- One number for each head, of so many: (H,B).
local function per_head(x, name, p, heads)
  local t = to_tensor(x, name, f32, "(H) or (B,H)", p)
  check_float(t, name)
  return spread(t, name, { n_sequences(p), heads or p.heads }, { 2, 1 }, "(H) or (B,H)")
end

-- The most tokens of a sequence, by n_q or n_k.
local function longest(p, count)
  local most = p.sequences and 0 or p[count]
  for _, s in ipairs(p.sequences or {}) do most = math.max(most, s[count]) end
  return most
end

--- For messages of `who`: one number for each head, or for each head and so many tokens of `count`,
--- n_q or n_k: (tokens / block,H,B). Returns whether there are blocks, too.
function M.per_block(who, x, name, p, heads, count, block)
  op = who
  local modes = ("(H), (B,H) or (B,H,N), N blocks of %d"):format(block)
  local t = to_tensor(x, name, f32, modes, p)
  check_float(t, name)
  local n = cdiv(longest(p, count), block)
  if rank(t.layout) == 3 then
    return spread(t, name, { n_sequences(p), heads, n }, { 3, 2, 1 }, modes), true
  end
  local own = spread(t, name, { n_sequences(p), heads }, { 2, 1 }, modes)
  local strides = stride(own)
  return view(own, layout({ n, heads, n_sequences(p) }, { 0, strides[1], strides[2] })), false
end

-- {====== Parts ======

-- Each adds its part and its operands to `to`.
local add = {}

local function insert(to, part, ...)
  part.n = select("#", ...)
  to.parts[#to.parts + 1] = part
  for _, x in ipairs { ... } do to.operands[#to.operands + 1] = x end
end

function add.softcap(cap, to)
  if type(cap) ~= "number" or cap <= 0 or cap ~= cap or cap == math.huge then
    fail("softcap is %s; expected a positive number", tostring(cap))
  end
  insert(to, scores.softcap, cap + 0.0)
end

function add.alibi(slopes, to, p)
  insert(to, to.is_before and scores.alibi_before or scores.alibi, per_head(slopes, "alibi", p))
end

function add.bias(bias, to, p)
  arguments.check_tensor(op, bias, "bias", "(B,H,S,Sk)", "attention launches kernels itself")
  check_place(bias, "bias", p)
  check_float(bias, "bias")
  insert(to, scores.bias, spread(bias, "bias", { n_sequences(p), p.heads, p.n_q, p.n_k },
    { 3, 4, 2, 1 }, "(B,H,S,Sk)"))
end

-- How many keys one side of a window has; false: all.
local function to_limit(x, side)
  if x == nil or x == -1 then return false end
  if math.type(x) ~= "integer" or x < 0 then
    fail("window's %s is %s; expected how many keys are seen, 0 or more, or -1 for all", side,
      tostring(x))
  end
  return x
end

-- Causal is a window that ends at the query.
local function read_window(window, p)
  if window ~= nil and type(window) ~= "table" then
    fail("window is of type %s; expected {left, right}, numbers of keys, -1 for all",
      tiles.type_name(window))
  end
  window = window or {}
  local left, right = to_limit(window[1], "left"), to_limit(window[2], "right")
  return left, p.causal and 0 or right
end

local function add_window(left, right, to)
  if left or right then
    insert(to, scores.window(left ~= false, right ~= false), left or 0, right or 0)
    to.range_text = ("window %s %s"):format(left, right)
  end
end

-- Of lengths, the number of each token's document.
local function ids_of(lengths, n)
  local ids = {}
  for i, length in ipairs(lengths) do
    if math.type(length) ~= "integer" or length < 0 then
      fail("entry %d of documents is %s; expected a length, an integer of 0 or more", i - 1,
        tostring(length))
    end
    for _ = 1, math.min(length, n - #ids + 1) do ids[#ids + 1] = i end
  end
  if #ids ~= n then
    fail("the lengths of documents have the sum %s; expected that of all tokens, %d",
      #ids > n and "of more than " .. n or #ids, n)
  end
  return ids
end

function add.documents(documents, to, p)
  if p.n_q ~= p.n_k then
    fail("there are %d queries and %d keys; documents need the same tokens for both", p.n_q, p.n_k)
  end
  if type(documents) == "table" then documents = ids_of(documents, p.n_k) end
  local ids = to_tensor(documents, "documents", i32, "(S) or (B,S)", p)
  if ids.dtype.is_float then
    fail("documents is %s; expected integers, the number of each token's document", ids.dtype)
  end
  insert(to, scores.documents, spread(ids, "documents", { n_sequences(p), p.n_k }, { 2, 1 },
    "(S) or (B,S)"))
end

-- {====== Functions of the script ======

local function check_function(f, name, arguments_of)
  if type(f) ~= "function" then
    fail("%s is of type %s; expected a function (%s)", name, tiles.type_name(f), arguments_of)
  end
end

local function to_operands(options, p)
  local operands = options.operands
  if operands == nil then return {} end
  if type(operands) ~= "table" then
    fail("operands is of type %s; expected a table of tensors and numbers, which `score` and "
      .. "`mask` get behind their other arguments", tiles.type_name(operands))
  elseif not options.score and not options.mask then
    fail("operands belong to `score` or `mask`, and there is neither")
  end
  for i, x in ipairs(operands) do
    if is_tensor(x) then check_place(x, ("operand %d"):format(i), p) end
  end
  return operands
end

local function add_functions(options, to, p)
  local operands = to_operands(options, p)
  local f, gradient = options.score, options.score_gradient
  if gradient ~= nil then
    check_function(gradient, "score_gradient", "s, q, k, h, b, operands...")
    if f == nil then fail("score_gradient is the derivative of `score`, which is missing") end
  end
  if f ~= nil then
    check_function(f, "score", "s, q, k, h, b, operands...")
    insert(to, scores.score(f, gradient), table.unpack(operands))
  end
  if options.mask ~= nil then
    check_function(options.mask, "mask", "q, k, h, b, operands...")
    insert(to, scores.mask(options.mask), table.unpack(operands))
  end
end

-- {====== Dropout ======

-- Adds the least random number that keeps a probability, the seed, and the factor of what is kept.
local function add_dropout(options, to)
  local numbers = { dropping.numbers(fail, "probabilities", options.dropout, options.seed) }
  for _, x in ipairs(numbers) do
    to.operands[#to.operands + 1] = x
  end
end

-- {====== All of them ======

-- Dropping nothing is no dropout, and its seed means nothing.
local function drops_none(options) return options.dropout == 0 end

local function is_given(options)
  local drops = not drops_none(options)
  for _, name in ipairs(M.names) do
    local counts = drops or name ~= "dropout" and name ~= "seed"
    if counts and options[name] ~= nil then return true end
  end
  return false
end

--- The options' kind and operands: {kind =, operands =, range_text =, sinks =, given_sinks =}, or
--- nil where there are none; for messages of `who`. Sinks are (H,B), and a tensor as given. `p` is
--- the problem, of which causal becomes a part.
function M.read(who, options, p)
  op = who
  if not is_given(options) then return nil end
  local left, right = read_window(options.window, p)
  local to = { parts = {}, operands = {}, range_text = "", is_before = right == 0 }
  for _, name in ipairs { "softcap", "alibi", "bias" } do
    if options[name] ~= nil then add[name](options[name], to, p) end
  end
  add_window(left, right, to)
  if options.documents ~= nil then add.documents(options.documents, to, p) end
  add_functions(options, to, p)
  local drops = options.dropout ~= nil and not drops_none(options)
  if drops then
    add_dropout(options, to)
  elseif options.seed ~= nil and options.dropout == nil then
    fail("seed belongs to dropout, which is missing")
  end
  local given = options.sinks ~= nil and to_tensor(options.sinks, "sinks", f32, "(H) or (B,H)", p)
  local sinks = given and per_head(given, "sinks", p) or nil
  if sinks then to.operands[#to.operands + 1] = sinks end
  return { kind = scores.kind(to.parts, sinks ~= nil, drops), operands = to.operands, sinks = sinks,
           given_sinks = given, range_text = to.range_text }
end

return M
