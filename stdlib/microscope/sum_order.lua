-- sum_order.lua: the tree in which an element of a tensor was summed, from the walk of trace.
--   sum_order(launch, {C = {5, 7}}[, args...])   a SumOrder, which prints as levels
--   same_order(a, b)                             true; or false and where they differ
-- A value is a node {op =, its operands..., code =, thread =, block =}. What only moves a value is
-- none. Nodes that many share exist once.
local internal = ...
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local tiles = require "cuttle.tiles"
local M = {}

local BEGIN <const>, TAKE <const>, WANT <const>, BYTE <const> = 0, 1, 2, 3
local SLOT <const> = 1 << 62
local START <const> = { op = "start" } -- what nobody wrote: numbers, and memory as it was

local function fail(format, ...) internal.host.fail(format:format(...)) end

-- {====== Events ======

-- Marks of one walk become events {step =, code =, thread =, block =, takes =, wants =}, the last
-- one first.
local FIELDS <const> = 8
local function mark_at(marks, i)
  return table.unpack(marks, FIELDS * (i - 1) + 1, FIELDS * i)
end
local function events_of(marks, first, last)
  local events, event, before = {}, nil, BEGIN
  for i = first, last do
    local kind, step, code, thread, block, off, place, tensor = mark_at(marks, i)
    local is_next = kind == TAKE
      and (before ~= TAKE or event.step ~= step or event.thread ~= thread)
    if not event or is_next then
      event = { step = step, code = code, thread = thread, block = block, takes = {}, wants = {} }
      events[#events + 1] = event
    end
    if kind == TAKE then
      event.takes[#event.takes + 1] = place
    elseif kind == WANT then
      event.wants[#event.wants + 1] = { places = { place }, tensor = tensor, off = off }
    elseif kind == BYTE then
      local places = event.wants[#event.wants].places
      places[#places + 1] = place
    end
    before = kind
  end
  return events
end

-- {====== Values ======

local function leaf_of(walk, want, event)
  local key = want.tensor .. " " .. want.off
  local leaf = walk.leaves[key]
  if not leaf then
    leaf = { op = "leaf", tensor = want.tensor, offset = want.off, thread = event.thread,
      block = event.block,
      crd = walk.tensors[want.tensor].modes_of(want.off) }
    walk.leaves[key] = leaf
  end
  return leaf
end

local function value_of(walk, want, event)
  local parts = {}
  for _, place in ipairs(want.places) do
    local node = walk.values[place]
    if node and node ~= parts[#parts] then parts[#parts + 1] = node end
  end
  if #parts == 1 then return parts[1] end
  if #parts > 1 then return { op = "bytes", table.unpack(parts) } end
  return want.tensor and leaf_of(walk, want, event) or START
end

local function chain_of(node, sum, operands, first)
  for i = first, #operands - 1, 2 do
    sum = { op = "fma", operands[i], operands[i + 1], sum, code = node.code, thread = node.thread,
      block = node.block }
  end
  return sum
end

-- Chunks of a tensor core: sum, then k elements of A and k of B.
local function chunks_of(node, operands, k)
  local sum = #operands % (2 * k) == 1 and table.remove(operands) or START
  for i = 1, #operands, 2 * k do
    sum = { op = node.code.name, k = k, sum, table.unpack(operands, i, i + 2 * k - 1) }
    sum.code, sum.thread, sum.block = node.code, node.thread, node.block
  end
  return sum
end

local makers = {}
function makers.gemm(node, operands)
  local sum = #operands % 2 == 1 and table.remove(operands) or START
  return chain_of(node, sum, operands, 1)
end
function makers.DOT(node, operands)
  return chain_of(node, table.remove(operands, 1), operands, 1)
end
function makers.mma(node, operands) return chunks_of(node, operands, node.code.mma_k) end
makers.wgmma, makers.tcgen05_mma = makers.mma, makers.mma
function makers.axpby(node, operands) -- the sum so far, then what is added to it; their factors
  node.op, node[1], node[2] = "axpby", operands[4] or START, operands[1]
  if operands[2] ~= START or operands[3] ~= START then
    node[3], node[4] = operands[2], operands[3]
  end
  return node
end
-- An atomic addition to operand `sum`, or what there is of the two.
local function atomic(node, operands, sum, added)
  if #operands < 2 then return operands[1] or START end
  node.op, node[1], node[2] = "atomic", operands[sum], operands[added]
  return node
end
function makers.TMA(node, operands) return atomic(node, operands, 2, 1) end
function makers.atomic_add(node, operands) return atomic(node, operands, 1, 2) end
function makers.ADD(node, operands) -- what nobody wrote comes first
  local x, y = operands[1], operands[2]
  node.op = "add"
  if y == START then x, y = y, x end
  node[1], node[2] = x, y
  return node
end

local movers = { SHFL = true, copy = true, warp_copy = true, tcgen05_copy = true,
  tcgen05_cp = true, fill = true }

local function is_move(code)
  return code.moves or movers[code.name] or code.name:find "^LOAD" or code.name:find "^STORE"
end

local short = {} -- "ADD_f32_vv" -> "add"
local function op_of(name)
  short[name] = short[name]
    or (name:match "^(.-)_[fiub]+%d*_" or name:match "^(.-)_[fiu]%d+$" or name):lower()
  return short[name]
end

local function node_of(walk, event)
  local code, operands = walk.codes[event.code], {}
  for i, want in ipairs(event.wants) do operands[i] = value_of(walk, want, event) end
  event.old = operands[3]
  if is_move(code) then return operands[1] or START end
  local node = { code = code, thread = event.thread, block = event.block }
  local maker = makers[code.name] or makers[code.name:match "^(DOT)_" or code.name:match "^(ADD)_f"]
  if maker then return maker(node, operands) end
  node.op = op_of(code.name)
  table.move(operands, 1, #operands, 1, node)
  return node
end

local function is_atomic(walk, event) return walk.codes[event.code].name:find "^atomic" ~= nil end

local function put(walk, event, node)
  for _, place in ipairs(event.takes) do
    local is_old = is_atomic(walk, event) and place & SLOT ~= 0 and event.old
    walk.values[place] = is_old or node
  end
end

-- Values of a step come from what was before it, except those of atomics, whose lanes take turns.
local function play(walk, events)
  local i = #events
  while i > 0 do
    local first, nodes = i, {}
    repeat
      nodes[i] = node_of(walk, events[i])
      i = i - 1
    until i == 0 or events[i].step ~= events[first].step or is_atomic(walk, events[first])
    for at = first, i + 1, -1 do put(walk, events[at], nodes[at]) end
  end
end

-- offset -> {first =, last =, place =} of its walks.
local function walks_by_offset(marks)
  local by_offset, last = {}, #marks // FIELDS
  for i = last, 1, -1 do
    if marks[FIELDS * (i - 1) + 1] == BEGIN then
      local _, _, _, _, _, offset, place = mark_at(marks, i)
      by_offset[offset] = by_offset[offset] or {}
      table.insert(by_offset[offset], 1, { first = i + 1, last = last, place = place })
      last = i - 1
    end
  end
  return by_offset
end

-- The values of the element at that offset at the end of its walks.
local function roots_of(walk, offset)
  local roots = {}
  walk.leaves = {}
  walk.by_offset = walk.by_offset or walks_by_offset(walk.marks)
  for _, one in ipairs(walk.by_offset[offset] or {}) do
    walk.values = {}
    play(walk, events_of(walk.marks, one.first, one.last))
    roots[#roots + 1] = walk.values[one.place]
  end
  return roots
end

-- Additions by atomics, of one block or many, are one node: nobody knows their order.
-- `name`: of the tensor that has the sum; what was in it before is no term.
local function join(roots, name)
  local terms, start = {}, START
  for _, root in ipairs(roots) do
    while root.op == "atomic" do
      terms[#terms + 1] = root
      root = root[1]
    end
    if root ~= START and (root.op ~= "leaf" or root.tensor ~= name) then start = root end
  end
  if #terms == 0 then
    return #roots == 1 and roots[1] or { op = "writes", table.unpack(roots) }
  end
  local node = { op = "atomics", start, code = terms[1].code }
  for i, term in ipairs(terms) do node[i + 1] = term[2] end
  return node
end

-- {====== Levels ======

local ids, n_ids = {}, 0

-- A number for the shape of a tree, without its leaves.
local function shape_of(node, known)
  if known[node] then return known[node] end
  local parts = { node.op }
  for i, x in ipairs(node) do parts[i + 1] = shape_of(x, known) end
  local key = table.concat(parts, " ")
  if not ids[key] then n_ids, ids[key] = n_ids + 1, n_ids + 1 end
  known[node] = ids[key]
  return ids[key]
end

local function is_number(node)
  if node == START then return true end
  for _, x in ipairs(node) do
    if x.op == "leaf" or not is_number(x) then return false end
  end
  return node.op ~= "leaf"
end

local count -- how many terms a sum has

-- A product of elements is one term; a sum that is scaled has its terms.
local function count_operands(node, known)
  local sum, most = 0, 0
  for _, x in ipairs(node) do
    local n = is_number(x) and 0 or count(x, known)
    sum, most = sum + n, math.max(most, n)
  end
  return node.op == "mul" and most or sum
end

function count(node, known)
  if node == START or known[node] then return known[node] or 0 end
  local n
  if node.op == "leaf" then
    n = 1
  elseif node.op == "fma" then
    n = 1 + count(node[3], known)
  elseif node.k then
    n = node.k + count(node[1], known)
  else
    n = count_operands(node, known)
  end
  known[node] = n
  return n
end

-- Who has the values that an addition brings together, and how far apart.
local function meeting(x, y)
  if not (x.thread and y.thread) or x.block == y.block and x.thread == y.thread then
    return "thread", 0
  elseif x.block ~= y.block then
    return "block", math.abs(x.block - y.block)
  elseif x.thread // 32 ~= y.thread // 32 then
    return "warp", math.abs(x.thread // 32 - y.thread // 32)
  end
  return "lane", math.abs(x.thread - y.thread)
end

local function new_level(node, how, n)
  return { op = node.op, how = how, n = n, line = node.code and node.code.line,
    chunk = node.code and node.code.chunk, k = node.k }
end

-- The sum that a chain of fma or mma goes on from is its third or first operand.
local function chain_level(node)
  local at, n, first = node.op == "fma" and 3 or 1, 0, node
  while node.op == first.op and node.k == first.k do
    n, node = n + 1, node[at]
  end
  return new_level(first, "in order", n), node ~= START and node or nil
end

local function pairs_level(node)
  local level = new_level(node, "in pairs", 2)
  level.by, level.distance = meeting(node[1], node[2])
  return level, node[1]
end

-- The chain ((a + b) + c) + ...: the terms on the other side have one shape.
local function add_level(node, shapes)
  local left, right = shape_of(node[1], shapes), shape_of(node[2], shapes)
  if left == right then return pairs_level(node) end
  local is_sum_first = node[1].op == node.op or left == ids.start
  local at = is_sum_first and 1 or 2
  if node[at].op ~= node.op and node[at] ~= START then at = node[2].op == node.op and 2 or 1 end
  local term, first, n = node[3 - at], node, 1
  local shape = shape_of(term, shapes)
  local second
  node = node[at]
  while node.op == first.op and #node == 2 and shape_of(node[3 - at], shapes) == shape do
    second = second or node[3 - at]
    n, node = n + 1, node[at]
  end
  if node.op == first.op and node[1] == START then node = node[2] end
  if shape_of(node, shapes) == shape then n = n + 1 end
  local level = new_level(first, "in order", n)
  level.by, level.distance = meeting(term, second or node)
  if node ~= START and shape_of(node, shapes) ~= shape then level.from = node end
  return level, term
end

-- The operand that has the sum, of an operation that is not a sum.
local function sum_in(node, counts)
  local most, of = 0, nil
  for _, x in ipairs(node) do
    local n = is_number(x) and 0 or count(x, counts)
    if n > most then most, of = n, x end
  end
  return of
end

local function level_of(node, shapes, counts)
  if node.op == "fma" or node.k then return chain_level(node) end
  if node.op == "add" or node.op == "axpby" and #node == 2 then return add_level(node, shapes) end
  if node.op == "atomics" or node.op == "writes" then
    return new_level(node, "in no fixed order", #node - (node.op == "atomics" and 1 or 0)),
      node[2] or node[1]
  end
  return new_level(node, "on the way", 1), sum_in(node, counts)
end

local function levels_of(root)
  local levels, shapes, counts, node = {}, {}, {}, root
  ids.start = shape_of(START, shapes)
  while node and node.op ~= "leaf" and node ~= START do
    levels[#levels + 1], node = level_of(node, shapes, counts)
  end
  return levels
end

-- {====== Text ======

local function distance_text(level)
  if level.by == "thread" or not level.by then return "of one thread" end
  return ("of %ss %s apart"):format(level.by, level.distances or level.distance)
end

local function terms_text(n) return plural(n, "term") end

local function level_text(level)
  local at = level.line and (", %s:%d"):format(level.chunk, level.line) or ""
  if level.how == "in pairs" then
    return ("%s added in pairs, %s%s"):format(terms_text(level.n), distance_text(level), at)
  elseif level.how == "in no fixed order" then
    local what = plural(level.n, level.op == "atomics" and "atomic addition" or "write")
    if level.n == 1 then return what .. at end
    return ("%s in no fixed order: the bits%s may change from launch to launch%s"):format(
      what, level.op == "atomics" and " of floats" or "", at)
  elseif level.how == "on the way" then
    return level.op .. at
  elseif level.k then
    return ("%d %s in order, each of k = %d (the order inside is the tensor core's)%s"):format(
      level.n, level.op, level.k, at)
  elseif level.op == "fma" then
    return ("%d fma in order%s"):format(level.n, at)
  end
  return ("%s added in order, %s%s"):format(terms_text(level.n), distance_text(level), at)
end

-- Levels in pairs that follow each other at one line are one row of the text.
local function merged(levels)
  local out = {}
  for _, level in ipairs(levels) do
    local last = out[#out]
    if last and level.how == "in pairs" and last.how == level.how and last.by == level.by then
      last.n = last.n * level.n
      last.distances = ("%s, %d"):format(last.distances or last.distance, level.distance)
    else
      out[#out + 1] = lists.with(level)
    end
  end
  return out
end

local order_type = tiles.new_type("SumOrder", {},
  { "levels", "tree", "n_terms", "is_fixed", "tensor", "element" })

function order_type:__tostring()
  local out = { ("%s%s: %s"):format(self.tensor, self.element, terms_text(self.n_terms)) }
  for i, level in ipairs(merged(self.levels)) do
    out[#out + 1] = ("%s%s"):format(("  "):rep(i), level_text(level))
  end
  return table.concat(out, "\n")
end

local function is_fixed(levels)
  for _, level in ipairs(levels) do
    if level.how == "in no fixed order" and level.n > 1 then return false end
  end
  return true
end

-- nil: no thread writes the element.
local function order_of(walk, name, element, offset)
  local roots = roots_of(walk, offset)
  if #roots == 0 then return nil end
  local root = join(roots, name)
  local levels = levels_of(root)
  return setmetatable({ tensor = name, element = element, tree = root, levels = levels,
    n_terms = count(root, {}), is_fixed = is_fixed(levels) }, order_type)
end

function M.sum_order(x, wanted, ...)
  local walk = require("cuttle.trace").walks("sum_order", x, wanted, ...)
  return order_of(walk, walk.name, walk.element, walk.offset)
    or fail("sum_order: no thread writes %s%s; choose an element that the launch writes", walk.name,
      walk.element)
end

--- For tune: the orders of elements of the parameter `name`, {offset =, text =} each, by their
--- places in the list; none of those that no thread writes. names: of all parameters.
function M.orders(names, launch, name, elements, args)
  local offsets, out = {}, {}
  for i, element in ipairs(elements) do offsets[i] = element.offset end
  local walk = require("cuttle.trace").walks_at("tune", names, launch, name, offsets, args)
  for i, element in ipairs(elements) do
    out[i] = order_of(walk, name, element.text, element.offset) or false
  end
  return out
end

-- {====== Comparing ======

local function op_text(node)
  if node == START then return "a start" end
  if node.k then return ("%s of k = %d"):format(node.op, node.k) end
  return node.op == "leaf" and "an element" or node.op
end

local function at_text(node)
  return node.code and (" (line %d)"):format(node.code.line) or ""
end

-- Elements of a tensor may lie elsewhere in it, but all by one and the same distance.
local function leaves_differ(a, b, shifts)
  if a.tensor ~= b.tensor then
    return ("elements of %s against elements of %s"):format(a.tensor, b.tensor)
  end
  local shift = {}
  for i, at in ipairs(a.crd) do shift[i] = (b.crd[i] or 0) - at end
  local text = table.concat(shift, ",")
  shifts[a.tensor] = shifts[a.tensor] or text
  if shifts[a.tensor] ~= text then
    return ("the terms of %s come in another order"):format(a.tensor)
  end
end

local function differ(a, b, seen, shifts)
  local known = seen[a]
  if not known then
    known = {}
    seen[a] = known
  end
  if known[b] then return nil end
  known[b] = true
  if a.op ~= b.op or a.k ~= b.k or #a ~= #b then
    return ("%s%s against %s%s"):format(op_text(a), at_text(a), op_text(b), at_text(b))
  end
  if a.op == "leaf" then return leaves_differ(a, b, shifts) end
  for i = 1, #a do
    local why = differ(a[i], b[i], seen, shifts)
    if why then return why end
  end
end

-- The first level that differs in what it is, in words.
local function level_differs(a, b)
  for i = 1, math.max(#a.levels, #b.levels) do
    local x, y = a.levels[i], b.levels[i]
    local one, other = x and level_text(x) or "nothing", y and level_text(y) or "nothing"
    if not (x and y) or x.op ~= y.op or x.n ~= y.n or x.how ~= y.how or x.k ~= y.k then
      return ("level %d: %s; against %s"):format(i, one, other)
    end
  end
end

--- Did sum_order give it?
function M.is_order(x) return getmetatable(x) == order_type end

local function check_order(x, i)
  if not M.is_order(x) then
    fail("same_order: argument %d is of type %s; expected a result of sum_order(launch, {C = "
      .. "{5, 7}})", i, tiles.type_name(x))
  end
end

function M.same_order(a, b)
  check_order(a, 1)
  check_order(b, 2)
  for _, x in ipairs { a, b } do
    if not x.is_fixed then
      return false, ("%s%s: atomics or several writers come in no fixed order"):format(x.tensor,
        x.element)
    end
  end
  local why = differ(a.tree, b.tree, {}, {})
  if not why then return true end
  return false, level_differs(a, b) or why
end

return M
