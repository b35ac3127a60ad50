-- tune_bits.lua: the contract of `tune`: only configurations are kept that sum as another one does,
-- or as an order that sum_order gave.
-- The order is found by running a call's launch on the CPU engine, for a few elements of each
-- tensor of the arguments that it writes: only the blocks that write them run in full. What was
-- found of a configuration is kept with its candidate, by what its arguments are.
local internal = ...
local judging = require "cuttle.tune_judge"
local lists = require "cuttle.lists"
local orders = require "cuttle.sum_order"
local spaces = require "cuttle.space"
local tiles = require "cuttle.tiles"
local M = {}

-- {====== Contracts ======

--- What `bits` may be: true or false, and what else was expected.
function M.is_option(value)
  return type(value) == "boolean" or type(value) == "table",
    "true, false, a configuration of the space, or a result of sum_order"
end

-- A text that is the tree: each node once, with the numbers of its operands.
local function tree_text(node, known, parts)
  if known[node] then return known[node] end
  local of = { node.op, node.k or "", node.tensor or "", node.offset or "" }
  for _, x in ipairs(node) do of[#of + 1] = tree_text(x, known, parts) end
  parts[#parts + 1] = table.concat(of, " ")
  known[node] = #parts
  return #parts
end

local function contract_of_order(order)
  local parts = {}
  tree_text(order.tree, {}, parts)
  return { order = order, text = order.tensor .. "\n" .. table.concat(parts, "\n") }
end

local function unfixed_text(order)
  return ("atomics or several writers make %s%s, in no fixed order"):format(order.tensor,
    order.element)
end

--- The contract of an option `bits`: {order =} or {candidate =}; nil: it asks for no order.
function M.contract(bits, candidates, fail)
  if type(bits) ~= "table" then return nil end
  if orders.is_order(bits) then
    if not bits.is_fixed then
      fail("bits is an order that fixes nothing: %s", unfixed_text(bits))
    end
    return contract_of_order(bits)
  end
  local text = spaces.text(bits)
  for _, candidate in ipairs(candidates) do
    if candidate.text == text then return { candidate = candidate, text = text } end
  end
  fail("bits is the configuration %s, which is not in the space; give one of the space, such as %s",
    text, candidates[1].text)
end

--- The hash of what is tuned, with what results must keep to.
function M.source(hash, bits, contract)
  if not bits then return hash end
  return internal.host.hash(hash .. "\0bits " .. (contract and contract.text or "true"))
end

-- {====== Elements ======

-- Coordinates in a mode: the ends, the middle, both sides of the last edge of a tile, and some.
local function places_in(n, random)
  local edge = 1
  while edge * 2 < n do edge = edge * 2 end
  return { 0, n - 1, n // 2, 0, n - 1, edge - 1, math.min(edge, n - 1), random(n), random(n) }
end

-- The same numbers in each run.
local function new_random()
  local x = 2463534242
  return function(n)
    x = (x * 1103515245 + 12345) % (1 << 31)
    return (x >> 8) % n
  end
end

-- {offset =, text =} of some elements of the tensor: corners, the middle, and some between.
local function elements_of(t)
  local rank, random, places = rank(t.layout), new_random(), {}
  if size(t) == 0 then return {} end
  for i = 1, rank do places[i] = places_in(size(t.layout, i - 1), random) end
  local list, known = {}, {}
  for at = 1, #places[1] do
    local crd = {}
    for i = 1, rank do
      local is_crossed = i % 2 == 0 and (at == 4 or at == 5) -- the other two corners
      crd[i] = places[i][is_crossed and 9 - at or at]
    end
    local offset = t.layout(table.unpack(crd))
    if not known[offset] then
      known[offset] = true
      list[#list + 1] = { offset = offset, text = "(" .. table.concat(crd, ",") .. ")" }
    end
  end
  return list
end

-- {====== Launches ======

local brief = judging.brief

-- The one launch of run(args...), which does not take place; nil and why.
local function launch_of(run, args)
  local found, n = nil, 0
  local _ <close> = internal.launch.launches(function(launch)
    n, found = n + 1, launch
    if n > 1 then error("more than one", 0) end
  end)
  internal.export.skip(true)
  local ok, why = pcall(run, table.unpack(args, 1, args.n))
  internal.export.skip(false)
  if n == 1 and ok then return found end
  if n == 0 then return nil, ok and "it launches no kernel" or brief(why) end
  if n == 1 then return nil, brief(why) end
  return nil, "it launches more than one kernel, and a sum is followed in one launch only"
end

local function extent_of(t)
  local ok, extent = pcall(internal.export.tensor, t)
  return ok and extent or nil
end

local function add_tensors(list, value)
  if tiles.type_name(value) == "tensor" then
    list[#list + 1] = value
  elseif type(value) == "table" then
    for _, x in ipairs(value) do add_tensors(list, x) end
  end
end

-- What the arguments are: layouts and types of tensors, and other values.
local function id_of(value)
  if tiles.type_name(value) == "tensor" then return value.dtype.name .. tostring(value.layout) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i = 1, value.n or #value do parts[i] = id_of(value[i]) end
  return "{" .. table.concat(parts, " ") .. "}"
end

-- Of elements of t those that lie in the parameter's tensor p, with their offsets there.
local function elements_in(t, p, elements)
  local of, at = extent_of(t), extent_of(p)
  local out, bytes, each = {}, t.dtype.bytes, p.dtype.bytes
  for i, element in ipairs(of and at and elements or {}) do
    local address = of.address + element.offset * bytes
    if address >= at.first and address < at.last then
      out[#out + 1] = { offset = (address - at.address) // each, text = element.text, at = i }
    end
  end
  return out
end

-- The orders of elements of the parameter `name`, by what its elements say.
local function orders_of(launch, name, elements)
  local config = launch.kernel(launch.launch)
  return orders.orders(launch.names, config, name, elements, launch.args)
end

local function is_result(launch, i)
  return launch.written[launch.names[i]] and tiles.type_name(launch.args[i]) == "tensor"
end

-- {name =, order =} by "tensor of the arguments, element" of all that the launch writes there.
local function orders_of_arguments(launch, args)
  local tensors, out = {}, {}
  add_tensors(tensors, args)
  for i, name in ipairs(launch.names) do
    for number, t in ipairs(is_result(launch, i) and tensors or {}) do
      local elements = elements_in(t, launch.args[i], elements_of(t))
      local list = #elements > 0 and orders_of(launch, name, elements) or {}
      for j, order in ipairs(list) do
        local id = number .. elements[j].text
        if order then out[#out + 1], out[id] = id, order end
      end
    end
  end
  return out
end

-- Those of elements of the parameter of that name.
local function orders_of_parameter(launch, name)
  for i, other in ipairs(launch.names) do
    if other == name and is_result(launch, i) then
      local list = orders_of(launch, name, elements_of(launch.args[i]))
      return lists.filter(list, function(order) return order end)
    end
  end
  return nil, ("its kernel writes no tensor '%s'"):format(name)
end

-- {====== Comparing ======

-- Calls f on the CPU engine: its results; nil and why, if it raises.
local function on_host(f)
  local before = device()
  if before.sm then device "cpu" end
  local out = table.pack(pcall(f))
  if before.sm then device("cuda:" .. before.ordinal) end
  if not out[1] then return nil, brief(out[2]) end
  return table.unpack(out, 2, out.n)
end

-- The launch of a candidate; nil and why. What f made for a GPU may have tensors there.
local function launch_of_candidate(candidate, judge)
  local mine = judge.is_on_gpu and { config = candidate.config } or candidate
  local run, why = judging.make(mine, judge.f)
  if not run then return nil, why end
  return launch_of(run, judge.on_host)
end

-- Why the orders of a candidate are not those of the contract; nil: they are.
local function differ(order, other)
  local ok, why = orders.same_order(order, other)
  if ok then return nil end
  return order.is_fixed and order.tensor .. order.element .. ": " .. why or why
end

local function differ_by_element(mine, contracts)
  for _, id in ipairs(contracts) do
    local other = contracts[id]
    local why = mine[id] and differ(mine[id], other)
      or not mine[id] and ("it does not write %s%s"):format(other.tensor, other.element)
    if why then return why end
  end
end

local function differ_from_order(mine, order)
  for _, x in ipairs(mine) do
    local why = differ(x, order)
    if why then return why end
  end
end

-- nil: the candidate keeps to the contract; else why it does not.
local function refusal(contract, candidate, judge)
  local launch, why = launch_of_candidate(candidate, judge)
  if not launch then return "the order of its sums is not known: " .. why end
  local name = contract.order and contract.order.tensor
  local mine
  if name then
    mine, why = orders_of_parameter(launch, name)
  else
    mine = orders_of_arguments(launch, judge.on_host)
  end
  if not mine then return "the order of its sums is not known: " .. why end
  if name then why = differ_from_order(mine, contract.order)
  else why = differ_by_element(mine, contract.orders) end
  return why and "another order of sums: " .. why
end

local function refusal_on_host(contract, candidate, judge)
  local why, trouble = on_host(function() return refusal(contract, candidate, judge) or false end)
  if why == nil then why = "the order of its sums is not known: " .. trouble end
  return why
end

-- {====== For tune ======

local function cannot(contract, why, fail)
  fail("bits is the configuration %s, but %s", contract.text, why)
end

-- The orders of the contract's own configuration.
local function read_contract(contract, judge, fail)
  local found, why = on_host(function()
    local launch, trouble = launch_of_candidate(contract.candidate, judge)
    if not launch then return nil, trouble end
    return orders_of_arguments(launch, judge.on_host)
  end)
  if not found then cannot(contract, "the order of its sums is not known: " .. why, fail) end
  if #found == 0 then cannot(contract, "its launch writes no tensor of the arguments", fail) end
  for _, id in ipairs(found) do
    if not found[id].is_fixed then
      cannot(contract, "it promises nothing: " .. unfixed_text(found[id]), fail)
    end
  end
  contract.orders = found
end

local function is_in(list, candidate)
  return lists.any(list, function(other) return other == candidate end)
end

-- The contract's own configuration runs, and its results are those that count.
local function set_right(contract, judge, place, fail)
  local ok, why = judging.set_right(judge, contract.candidate,
    place.is_gpu and clone or internal.launch.copies)
  if not ok then cannot(contract, "it does not run: " .. why, fail) end
end

--- Those of the list that keep to the contract, that of the contract first; the others get `why`.
function M.kept(contract, judge, list, place, step, fail)
  local left, may_go_on, own = {}, true, contract.candidate
  local id = id_of(judge.args)
  judge.is_on_gpu = place.is_gpu
  judge.on_host = table.pack(internal.launch.copies(table.unpack(judge.args, 1, judge.args.n)))
  if own then
    if not is_in(list, own) then cannot(contract, "`where` does not allow it", fail) end
    read_contract(contract, judge, fail)
    set_right(contract, judge, place, fail)
    left[1] = own
  end
  for _, candidate in ipairs(list) do
    local known = candidate.refusals or {}
    candidate.refusals = known
    if may_go_on and candidate ~= own then
      if known[id] == nil then known[id] = refusal_on_host(contract, candidate, judge) end
      candidate.why = known[id] or nil
      if not candidate.why then left[#left + 1] = candidate end
      collectgarbage()
    elseif candidate ~= own then
      candidate.why = "stopped before the order of its sums was known"
    end
    may_go_on = may_go_on and step()
  end
  contract.orders, judge.on_host = nil, nil
  return left
end

--- The configuration for a key without a result of its own.
function M.fallback(contract, allowed, key, fail)
  local own = contract.candidate
  if own and allowed[own.text] then return own end
  if own then cannot(contract, "`where` does not allow it", fail) end
  fail("there is no result for %s, so it is not known which configuration adds as `bits` "
    .. "requires; tune for these arguments first, where launches run", key)
end

return M
