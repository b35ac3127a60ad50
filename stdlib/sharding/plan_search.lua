-- plan_search.lua: the cheapest way from one state of a placement to another: Dijkstra's algorithm
-- over the places of axes. Costs are compared by the first seconds of plan_cost.of, which count
-- bytes, then by the second ones, then by the number of steps.
local cost = require "cuttle.plan_cost"
local count = require "cuttle.plan_count"
local lists = require "cuttle.lists"
local placement = require "cuttle.placement"
local M = {}

local REPLICATED <const>, PARTIAL <const> = placement.REPLICATED, placement.PARTIAL
local MAX_SUBSETS <const> = 5 -- of more axes, only single ones and all together are tried

-- {====== Costs ======

local function less(a, b)
  local slack = 1e-9 * math.max(a.first, b.first)
  if math.abs(a.first - b.first) > slack then return a.first < b.first end
  if a.second ~= b.second then return a.second < b.second end
  return a.steps < b.steps
end

local function add(a, first, second)
  return { first = a.first + first, second = a.second + second, steps = a.steps + 1 }
end

-- {====== Sets of axes ======

-- All sets of a list but the empty one; of a long list, single ones and the whole.
local function subsets(list)
  local out = {}
  if #list > MAX_SUBSETS then
    for _, x in ipairs(list) do out[#out + 1] = { x } end
    out[#out + 1] = list
    return out
  end
  for mask = 1, (1 << #list) - 1 do
    local set = {}
    for i, x in ipairs(list) do
      if mask >> (i - 1) & 1 == 1 then set[#set + 1] = x end
    end
    out[mask] = set
  end
  return out
end

-- The axes x for which the condition holds.
local function axes_where(p, condition)
  local out = {}
  for x = 1, #p.axes do
    if condition(x) then out[#out + 1] = x end
  end
  return out
end

-- {====== Axes that change places ======

-- The axis whose place axis x wants, if it is just as large: one that stands there, or for a
-- replicated place the axis `first`, which leaves it.
local function holder(p, state, x, first)
  if p.goal.at[x] == REPLICATED then
    return first and state.at[first] == REPLICATED and p.extent[first] == p.extent[x] and first
  end
  for y, at in ipairs(state.at) do
    if at == p.goal.at[x] and p.extent[y] == p.extent[x] then return y end
  end
end

-- The axes of the cycle that begins with x, each going to the place of the next; nil if none does.
local function cycle_of(p, state, x)
  local cycle, seen, y = {}, {}, x
  repeat
    if y == nil or y == false or seen[y] or state.at[y] == PARTIAL or p.goal.at[y] == PARTIAL or
      state.at[y] == p.goal.at[y] then return nil end
    cycle[#cycle + 1], seen[y] = y, true
    y = holder(p, state, y, x)
  until y == x
  return #cycle > 1 and cycle or nil
end

-- All cycles; one with a replicated axis begins with it.
local function cycles_of(p, state)
  local cycles, used = {}, {}
  for _, wants in ipairs { true, false } do
    for x, at in ipairs(state.at) do
      local cycle = (at == REPLICATED) == wants and not used[x] and cycle_of(p, state, x)
      local is_new = cycle
      for _, y in ipairs(cycle or {}) do is_new = is_new and not used[y] end
      if is_new then
        for _, y in ipairs(cycle) do used[y] = true end
        cycles[#cycles + 1] = cycle
      end
    end
  end
  return cycles
end

-- Each cycle, and all of them at once if at most one has replicated axes.
local function permutations(p, state)
  local sets, all, n_replicated = {}, {}, 0
  for i, cycle in ipairs(cycles_of(p, state)) do
    sets[i] = cycle
    table.move(cycle, 1, #cycle, #all + 1, all)
    if state.at[cycle[1]] == REPLICATED then n_replicated = n_replicated + 1 end
  end
  if #sets > 1 and n_replicated <= 1 then
    table.sort(all)
    sets[#sets + 1] = all
  end
  return sets
end

-- {====== Edges ======

local function to_goal(p) return function(x) return p.goal.at[x] end end
local function to_replicated() return REPLICATED end

-- Calls visit(op, axes, place_of) for each collective that may follow a settled state.
local function each_collective(p, state, visit)
  local on = placement.occupied(p, state)
  local function every(op, list, place_of)
    for _, set in ipairs(subsets(list)) do visit(op, set, place_of) end
  end
  local movable = axes_where(p, function(x)
    return state.at[x] > 0 and state.at[x] ~= p.goal.at[x]
  end)
  local summed = axes_where(p, function(x)
    return state.at[x] == PARTIAL and p.goal.at[x] ~= PARTIAL
  end)
  local function free_ones(list)
    return lists.filter(list, function(x) return placement.is_free(p, state, on, x) end)
  end
  every("all_gather", movable, to_replicated)
  every("all_to_all", free_ones(movable), to_goal(p))
  every("all_reduce", summed, to_replicated)
  every("reduce_scatter", free_ones(summed), to_goal(p))
  for _, set in ipairs(permutations(p, state)) do visit("permute", set, to_goal(p)) end
end

function M.axis_names(p, axes)
  return lists.map(axes, function(x) return p.axes[x] end)
end

-- {====== The search ======

-- Elements that may be sent at once to the target, from the state before anything was sliced.
local function missing(s, node)
  local p = s.p
  for x, at in ipairs(node.raw.at) do
    if at == PARTIAL and p.goal.at[x] ~= PARTIAL then return nil end
  end
  if node.op ~= nil and node.op ~= "all_reduce" and node.op ~= "reduce_scatter" then return nil end
  return count.missing(placement.rough(p, node.raw), s.to)
end

-- The axes whose place differs: the messages stay in groups over them.
local function changed(p, state)
  local axes = axes_where(p, function(x) return state.at[x] ~= p.goal.at[x] end)
  if #axes > 0 then return axes end
  return axes_where(p, function(x) return state.at[x] > 0 end)
end

local function relax(s, node, op, axes, raw, part)
  local spread = cost.spread(s.p.mesh, M.axis_names(s.p, axes), s.links, s.memo)
  local _, first, second = cost.of(op, spread, s.links, part, s.item)
  local next_node = { op = op, axes = axes, raw = raw, before = node,
                      cost = add(node.cost, first, second) }
  next_node.state = op == "send_recv" and raw or placement.settled(s.p, raw)
  local key = placement.key(next_node.state)
  local known = s.known[key]
  if known == nil then s.keys[#s.keys + 1] = key end
  if known == nil or (not known.done and less(next_node.cost, known.cost)) then
    s.known[key] = next_node
  end
end

local function expand(s, node)
  local p = s.p
  local part = placement.part_size(p, node.state) * s.item
  each_collective(p, node.state, function(op, axes, place_of)
    relax(s, node, op, axes, placement.moved(node.state, axes, place_of), part)
  end)
  local lacks = missing(s, node)
  if lacks then relax(s, node, "send_recv", changed(p, node.raw), p.goal, lacks * s.item) end
end

-- The cheapest node that is not done; of equals, the one that was found first, so that every
-- process finds the same plan.
local function cheapest(s)
  local best
  for _, key in ipairs(s.keys) do
    local node = s.known[key]
    if not node.done and (best == nil or less(node.cost, best.cost)) then best = node end
  end
  return best
end

--- The nodes from the first to the last, which is the target's state. A node has `raw`, the state
--- after its step, and `state`, the same with all that needs no communication. s: {p = the problem,
--- to = the target, item = bytes of an element, links =, memo = of plan_cost.spread}.
function M.path(s)
  local root = { raw = s.p.start, state = placement.settled(s.p, s.p.start),
                  cost = { first = 0, second = 0, steps = 0 } }
  s.known, s.keys = { [placement.key(root.state)] = root }, { placement.key(root.state) }
  local goal, path = placement.key(s.p.goal), {}
  local node = root
  while placement.key(node.state) ~= goal do
    node.done = true
    expand(s, node)
    node = assert(cheapest(s), "every state has a way to the target")
  end
  while node do
    table.insert(path, 1, node)
    node = node.before
  end
  return path
end

return M
