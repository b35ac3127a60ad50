-- plan.lua: the steps that take one sharding to another. plan_search.lua finds which collectives,
-- in which order. Here they get local steps where the order in memory or the padding must change.
--   plan = {from =, to =, steps = {...}, bytes =, seconds =, item =, links =}
--   step = {op =, axes = {names}, from = sharding, to = sharding, bytes =, seconds =, view =}
-- The first step's `from` is the plan's, the last one's `to` is the plan's, but without axes of one
-- rank. What lies between says the same sharding as both its neighbours, perhaps in other factors.
-- `bytes`: received by the device that receives the most. What a step does follows from op, axes,
-- from and to:
--   all_gather      order of `to`: that of `from`, then the axes' factors, the first axis fastest
--   reduce_scatter  order of `from`: that of `to`, then the factors that the axes shard in `to`
--   all_to_all      order of `from`: some factors, then those that the axes shard in `to`; order of
--                   `to`: the same factors, then those that the axes shard in `from`
--   all_reduce, permute   the order stays. For permute see permute.source.
--   local, send_recv      any orders and paddings; see pieces.boxes. `view`: each part of `to` is
--                         a contiguous range of the part of `from`.
-- So collectives work on whole parts, chunk by chunk in the order of the group (mesh:group).
local lists = require "cuttle.lists"
local cost = require "cuttle.plan_cost"
local count = require "cuttle.plan_count"
local meshes = require "cuttle.mesh_type"
local option_names = require "cuttle.option_names"
local placement = require "cuttle.placement"
local search = require "cuttle.plan_search"
local shardings = require "cuttle.sharding"
local tiles = require "cuttle.tiles"
local M = {}

local plan_type = tiles.new_type("plan", { explain = explain },
  { "from", "to", "steps", "bytes", "seconds", "item", "links" })

-- {====== Atoms that change ======

local function without(list, drop)
  local set = lists.set(drop)
  return lists.filter(list, function(x) return not set[x] end)
end

local function joined(a, b)
  local out = table.move(a, 1, #a, 1, {})
  return table.move(b, 1, #b, #out + 1, out)
end

local function ends_with(list, tail)
  local skip = #list - #tail
  for i, x in ipairs(tail) do
    if list[skip + i] ~= x then return false end
  end
  return skip >= 0
end

local function same_list(a, b) return #a == #b and ends_with(a, b) end

-- The atoms that these axes are on, in the order of the axes.
local function atoms_on(p, state, axes)
  local out = {}
  for _, x in ipairs(axes) do
    if state.at[x] > 0 then out = joined(out, placement.run(p, x, state.at[x])) end
  end
  return out
end

-- The atoms that become local by a collective, and those that become the axes'.
local function changes(p, step)
  if step.op == "permute" then return {}, {} end
  return atoms_on(p, step.before, step.axes), atoms_on(p, step.after, step.axes)
end

-- {====== Wishes: how memory should lie, seen from the end ======

local function has_axis(p, state)
  local busy = {}
  for id in pairs(placement.occupied(p, state)) do busy[p.atoms[id].mode] = true end
  return busy
end

-- The padding before a change: that of the common factors for modes with axes on one side of it.
local function wished_pads(p, before, after, wish)
  local pads, tops = {}, placement.tops(p, before)
  local busy_before, busy_after = has_axis(p, before), has_axis(p, after)
  for i, top in ipairs(tops) do
    local stays = not busy_before[i] and not busy_after[i] and
      before.structure[i] == after.structure[i]
    pads[i] = stays and wish.pads[i] or top
  end
  return pads
end

-- Before slices and changes of structure: what is sliced lies last, so that a slice is a view.
local function before_settling(p, raw, settled, wish)
  if placement.key(raw) == placement.key(settled) then return wish end
  local is_local, order, seen = lists.set(placement.local_atoms(p, raw)), {}, {}
  local function put(id)
    if is_local[id] and not seen[id] then order[#order + 1], seen[id] = id, true end
  end
  for _, id in ipairs(wish.order) do
    local i = p.atoms[id].mode
    if raw.structure[i] == settled.structure[i] then
      put(id)
    else
      for _, old in ipairs(p.modes[i].structures[raw.structure[i]].ids) do put(old) end
    end
  end
  for _, id in ipairs(placement.local_atoms(p, raw)) do put(id) end
  return { order = order, pads = wished_pads(p, raw, settled, wish) }
end

-- The axes of a step in the order that suits the wish after it, or the source's memory.
local function sort_axes(p, step, wish)
  local place = {}
  for _, list in ipairs { p.start.order, wish.order } do
    for at, id in ipairs(list) do place[id] = at end
  end
  local function key(x)
    local from, to = step.before.at[x], step.after.at[x]
    local id = from > 0 and from or to
    return id > 0 and (place[id] or #p.atoms + id) or 0
  end
  table.sort(step.axes, function(x, y)
    local a, b = key(x), key(y)
    if a ~= b then return a < b end
    return x < y
  end)
end

-- Before a message of any kind, nothing is wished: memory as it was in the source.
local function before_messages(p, step)
  local is_local = lists.set(placement.local_atoms(p, step.before))
  local order = lists.filter(p.start.order, function(id) return is_local[id] end)
  order = joined(order, without(placement.local_atoms(p, step.before), order))
  return { order = order, pads = placement.tops(p, step.before) }
end

-- Before a collective. Notes in the step whether the wish after it can be met without a copy.
local function before_step(p, step, wish)
  if step.op == "send_recv" then return before_messages(p, step) end
  sort_axes(p, step, wish)
  step.freed, step.taken = changes(p, step)
  step.is_exact = ends_with(wish.order, step.freed)
  return { order = joined(without(wish.order, step.freed), step.taken),
           pads = wished_pads(p, step.before, step.after, wish) }
end

-- The collectives of a path, each with the memory that is wished before it.
local function with_wishes(p, path)
  local steps, wish = {}, { order = p.goal.order, pads = p.goal.pads }
  for k = #path, 1, -1 do
    local node = path[k]
    wish = before_settling(p, node.raw, node.state, wish)
    if k > 1 then
      local is_message = node.op == "send_recv"
      local step = { op = node.op, axes = table.move(node.axes, 1, #node.axes, 1, {}),
                     before = is_message and path[k - 1].raw or path[k - 1].state,
                     after = node.raw }
      wish = before_step(p, step, wish)
      step.wish = wish
      table.insert(steps, 1, step)
    end
  end
  return steps
end

-- {====== Steps ======

-- Does memory suit the collective: its chunks are the slowest factors, without other padding?
local function suits(p, step, now)
  if not ends_with(now.order, step.taken) then return false end
  for _, id in ipairs(step.taken) do
    local atom = p.atoms[id]
    local top = p.modes[atom.mode].structures[atom.structure].top
    if now.pads[atom.mode] ~= top then return false end
  end
  return true
end

-- Is each part of `to` a range of the part before: a prefix of the order, the rest sliced?
local function is_view(p, now, to)
  for i = 1, #to.order do
    if now.order[i] ~= to.order[i] then return false end
  end
  if same_list(now.pads, to.pads) then return true end
  local last = to.order[#to.order]
  for i, pad in ipairs(to.pads) do
    local ids = p.modes[i].structures[to.structure[i]].ids
    local is_last = last and last == ids[#ids] and #now.order == #to.order
    if pad > now.pads[i] or (pad < now.pads[i] and not is_last) then return false end
  end
  return true
end

-- The axes that slice or change hands in a local step.
local function local_axes(p, now, to)
  local out = {}
  for x, at in ipairs(to.at) do
    if at ~= now.at[x] then out[#out + 1] = p.axes[x] end
  end
  return out
end

-- A copy inside each device, unless both say the same memory.
local function add_local(out, p, now, to)
  local from_sharding, to_sharding = placement.sharding(p, now), placement.sharding(p, to)
  if not shardings.equal(from_sharding, to_sharding) then
    out[#out + 1] = { op = "local", axes = local_axes(p, now, to), from = from_sharding,
                      to = to_sharding, view = is_view(p, now, to) }
  end
  return to
end

-- What memory is after a collective.
local function after_step(step, now)
  return placement.in_memory(step.after, { pads = now.pads,
    order = joined(without(now.order, step.taken), step.freed) })
end

local function add_messages(out, p, step, now)
  out[#out + 1] = { op = "send_recv", axes = search.axis_names(p, step.axes),
                    from = placement.sharding(p, now), to = placement.sharding(p, p.goal) }
  return p.goal
end

-- The memory wished before a collective, without padding that only a later step needs.
local function memory_before(p, step, now)
  local wished = placement.in_memory(step.before, step.wish)
  local narrow = placement.narrowed(p, wished, now.pads)
  return suits(p, step, narrow) and narrow or wished
end

local function add_collective(out, p, step, now)
  if step.op == "send_recv" then return add_messages(out, p, step, now) end
  local is_pending = placement.key(now) ~= placement.key(step.before)
  local is_better_now = step.op == "all_gather" and step.is_exact and
    not same_list(now.order, step.wish.order)
  if is_pending or is_better_now or not suits(p, step, now) then
    now = add_local(out, p, now, memory_before(p, step, now))
  end
  local after = after_step(step, now)
  out[#out + 1] = { op = step.op, axes = search.axis_names(p, step.axes),
                    from = placement.sharding(p, now), to = placement.sharding(p, after) }
  return after
end

local function steps_of(p, path)
  local out, now = {}, p.start
  for _, step in ipairs(with_wishes(p, path)) do now = add_collective(out, p, step, now) end
  add_local(out, p, now, p.goal)
  return out
end

-- {====== Costs ======


local function add_cost(step, plan, memo)
  local part, links = shardings.part_size(step.from) * plan.item, plan.links
  if step.op == "local" then
    step.bytes = 0
    step.seconds = cost.of_local(links, shardings.part_size(step.to) * plan.item, step.view)
    return
  end
  if step.op == "send_recv" then part = count.missing(step.from, step.to) * plan.item end
  local spread = cost.spread(step.from.mesh, step.axes, links, memo)
  local bytes, first, second = cost.of(step.op, spread, links, part, plan.item)
  step.bytes, step.seconds = bytes, first + second
  if step.op == "send_recv" and bytes == 0 then -- each rank has all that it needs
    step.op, step.view, step.seconds = "local", false, cost.of_local(links, part, false)
  end
end

-- {====== Plans ======

local function check_same(from, to, op)
  if from.mesh ~= to.mesh then
    tiles.fail(op, "the source lies on %s and the target on %s; a plan stays on one mesh",
      from.mesh, to.mesh)
  elseif table.concat(from.shape, ",") ~= table.concat(to.shape, ",") then
    tiles.fail(op, "the source has the shape (%s) and the target (%s); give them the same one",
      table.concat(from.shape, ","), table.concat(to.shape, ","))
  end
end

-- Where the source has axis `name`: "shards mode K", "is replicated".
local function use_of(s, name)
  local at = shardings.sharding_axes(s)[name]
  if at == nil then return "is replicated" end
  return "shards mode " .. (s.names[at[1]] or at[1] - 1)
end

local function check_partial(from, to, op)
  for _, name in ipairs(from.mesh.axes) do
    if to.partial[name] and not from.partial[name] and from.mesh.extent[name] > 1 then
      tiles.fail(op, "the target %s has partial sums over axis '%s', which %s in the source %s; "
        .. "no step makes summands of whole elements: leave @%s+ out of the target",
        shardings.text(to), name, use_of(from, name), shardings.text(from), name)
    end
  end
end

-- Does a sharding name axes of one rank? They do nothing, and steps leave them out: between the
-- factors of a mode they would keep its memory apart.
local function has_single(s)
  local on = shardings.sharding_axes(s)
  for name, extent in pairs(s.mesh.extent) do
    if extent == 1 and (on[name] or s.partial[name]) then return true end
  end
  return false
end

--- The cheapest steps from one sharding to another, for elements of `item` bytes, by a table of
--- links as plan_cost.links makes it; nil: that of the mesh.
function M.plan(from, to, item, links, op)
  op = op or "plan"
  check_same(from, to, op)
  check_partial(from, to, op)
  links = links or from.mesh.links or cost.links(nil, op)
  local p, memo = placement.problem(from, to), {}
  local path = search.path { p = p, to = to, item = item, links = links, memo = memo }
  local plan = { from = from, to = to, item = item, links = links, bytes = 0, seconds = 0.0 }
  plan.steps = steps_of(p, path)
  local steps = plan.steps
  if #steps > 0 and not has_single(from) then steps[1].from = from end
  if #steps > 0 and not has_single(to) then steps[#steps].to = to end
  for _, step in ipairs(steps) do
    add_cost(step, plan, memo)
    plan.bytes, plan.seconds = plan.bytes + step.bytes, plan.seconds + step.seconds
  end
  return setmetatable(plan, plan_type)
end

function plan_type.__tostring(plan) return require("cuttle.plan_text").text(plan) end

local function options_of(options, op)
  return option_names.check(op, options, { "links" }, "{links = {node = 8}}")
end

--- m:plan(dtype, shape, from, to[, {links = {...}}])
function M.mesh_plan(m, dtype, shape, from, to, options)
  local op = "mesh:plan"
  meshes.check(m, op)
  local item = cost.item(dtype, op)
  local source = shardings.new(m, shape, from, op)
  local target = shardings.new(m, shape == nil and source.shape or shape, to, op)
  return M.plan(source, target, item, cost.links(options_of(options, op).links, op, m.links), op)
end

return M
