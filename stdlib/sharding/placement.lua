-- placement.lua: where axes are, for the search of plans. Two shardings of one shape are refined to
-- common factors, the *atoms*: each mode is cut where one of both is cut. If the cuts of a mode do
-- not divide one another, it has two structures: the source's and the target's. A mode changes from
-- the one to the other when no axis is on it.
--   p.atoms[id]    {mode =, structure =, extent =, weight =}; ids count up, fastest first, by mode
--   p.modes[i]     {structures = {{ids =, top =}, ...}, pads = {from, to}}: top is the padded
--                  extent; pads is what the parts of source and target really hold
--   p.axes, p.extent   the axes of more than one rank; their extents
-- A state has {at = {place of each axis}, structure = {of each mode}}. A place is the first atom
-- that the axis is on, REPLICATED or PARTIAL. In memory it has {order = local atoms, fastest first,
-- pads = padded extent of each mode}.
local shardings = require "cuttle.sharding"
local M = {}

M.REPLICATED, M.PARTIAL = 0, -1

-- {====== Cuts ======

-- Products of a mode's first factors. A last factor in memory has no fixed end: `open`.
local function cuts_of(factors)
  local cuts, at, open = { 1 }, 1, true
  for _, factor in ipairs(factors) do
    if factor.extent > 1 then
      at, open = at * factor.extent, not factor.axis
      cuts[#cuts + 1] = at
    end
  end
  if open and #cuts > 1 then cuts[#cuts] = nil end
  return { cuts = cuts, top = at, open = open, last = cuts[#cuts] }
end

-- The padded extent that suits both; nil if there is none.
local function common_top(a, b, extent)
  if not a.open and not b.open then return a.top == b.top and a.top or nil end
  if not a.open then return a.top end
  if not b.open then return b.top end
  local step = math.max(a.last, b.last)
  if a.top % step == 0 then return a.top end
  if b.top % step == 0 then return b.top end
  return (extent + step - 1) // step * step
end

-- Whether memory above the last cut of `c` keeps a place in a mode of this padded extent.
local function has_room(c, top) return c.top == c.last or top > c.last end

-- The cuts of both in order, up to `top`; nil if they do not divide one another.
local function merged_cuts(a, b, top)
  local all, out = { top }, {}
  for _, c in ipairs { a, b } do table.move(c.cuts, 1, #c.cuts, #all + 1, all) end
  table.sort(all)
  for _, cut in ipairs(all) do
    local last = out[#out]
    if last == nil or cut ~= last then
      if last and cut % last ~= 0 then return nil end
      out[#out + 1] = cut
    end
  end
  return out[#out] == top and out or nil
end

local function add_structure(p, mode, cuts)
  local structures = p.modes[mode].structures
  local s = { ids = {}, top = cuts[#cuts] }
  structures[#structures + 1] = s
  for j = 2, #cuts do
    local id = #p.atoms + 1
    p.atoms[id] = { mode = mode, structure = #structures, extent = cuts[j] // cuts[j - 1],
                    weight = cuts[j - 1] }
    s.ids[#s.ids + 1] = id
  end
end

local function add_mode(p, i, from, to)
  local a, b = cuts_of(from), cuts_of(to)
  p.modes[i] = { structures = {}, pads = { a.top, b.top } }
  local top = common_top(a, b, p.shape[i])
  local cuts = top and has_room(a, top) and has_room(b, top) and merged_cuts(a, b, top)
  if cuts then return add_structure(p, i, cuts) end
  add_structure(p, i, merged_cuts(a, a, a.top))
  add_structure(p, i, merged_cuts(b, b, b.top))
end

-- {====== States of shardings ======

-- The atoms of mode i in a structure, from `weight` up to `weight * extent`; up to the top for nil.
local function atoms_within(p, i, k, weight, extent)
  local out = {}
  for _, id in ipairs(p.modes[i].structures[k].ids) do
    local w = p.atoms[id].weight
    if w >= weight and (extent == nil or w < weight * extent) then out[#out + 1] = id end
  end
  return out
end

-- The atoms of each factor of mode i: {[factor] = ids}.
local function atoms_of_factors(p, i, k, factors, out)
  local weight, last = 1, 0
  for j, factor in ipairs(factors) do
    if factor.extent > 1 then last = j end
  end
  for j, factor in ipairs(factors) do
    local is_open = j == last and not factor.axis
    if factor.extent > 1 then
      out[factor] = atoms_within(p, i, k, weight, not is_open and factor.extent or nil)
      weight = weight * factor.extent
    end
  end
end

-- A mode of one element that the other side pads: its atoms have no place in memory; they get the
-- last ones.
local function add_empty(p, state)
  local seen = {}
  for _, id in ipairs(state.order) do seen[id] = true end
  for _, id in ipairs(M.local_atoms(p, state)) do
    if not seen[id] then state.order[#state.order + 1] = id end
  end
  return state
end

-- The state of one of the shardings; `side` 1 is the source, 2 the target.
local function state_of(p, s, side)
  local state, ids = { at = {}, structure = {}, order = {}, pads = {} }, {}
  for i, factors in ipairs(s.modes) do
    local k = math.min(side, #p.modes[i].structures)
    state.structure[i], state.pads[i] = k, p.modes[i].pads[side]
    atoms_of_factors(p, i, k, factors, ids)
  end
  local on = shardings.sharding_axes(s)
  for x, name in ipairs(p.axes) do
    local at = on[name]
    state.at[x] = at and ids[s.modes[at[1]][at[2]]][1] or s.partial[name] and M.PARTIAL
      or M.REPLICATED
  end
  for _, at in ipairs(s.order) do
    local list = ids[s.modes[at[1]][at[2]]]
    table.move(list, 1, #list, #state.order + 1, state.order)
  end
  return add_empty(p, state)
end

--- The refined problem of two shardings, with p.start and p.goal.
function M.problem(from, to)
  local p = { mesh = from.mesh, shape = from.shape, names = {}, modes = {}, atoms = {}, axes = {},
              extent = {}, runs = {} }
  for i = 1, #p.shape do
    p.names[i] = from.names[i] or to.names[i]
    add_mode(p, i, from.modes[i], to.modes[i])
  end
  for _, name in ipairs(p.mesh.axes) do
    if p.mesh.extent[name] > 1 then
      p.axes[#p.axes + 1] = name
      p.extent[#p.axes] = p.mesh.extent[name]
    end
  end
  p.start, p.goal = state_of(p, from, 1), state_of(p, to, 2)
  return p
end

-- {====== Asking a state ======

--- The atoms that axis x covers from atom `first` on.
function M.run(p, x, first)
  local key = x .. ":" .. first
  local run, n, id = p.runs[key], 1, first
  if run then return run end
  run = {}
  while n < p.extent[x] do
    run[#run + 1], n, id = id, n * p.atoms[id].extent, id + 1
  end
  p.runs[key] = run
  return run
end

--- {[atom] = axis} of a state.
function M.occupied(p, state)
  local on = {}
  for x, at in ipairs(state.at) do
    if at > 0 then
      for _, id in ipairs(M.run(p, x, at)) do on[id] = x end
    end
  end
  return on
end

--- Can axis x take its place in the target: atoms that exist now and lie in memory?
function M.is_free(p, state, on, x)
  local at = p.goal.at[x]
  if at <= 0 or state.structure[p.atoms[at].mode] ~= p.atoms[at].structure then return false end
  for _, id in ipairs(M.run(p, x, at)) do
    if on[id] then return false end
  end
  return true
end

--- A state with axes at other places.
function M.moved(state, axes, place_of)
  local at = table.move(state.at, 1, #state.at, 1, {})
  for _, x in ipairs(axes) do at[x] = place_of(x) end
  return { at = at, structure = state.structure }
end

-- Modes without axes change to the target's structure.
local function cross(p, state, on)
  local structure, busy = table.move(state.structure, 1, #state.structure, 1, {}), {}
  for id in pairs(on) do busy[p.atoms[id].mode] = true end
  local crossed = false
  for i, k in ipairs(structure) do
    if k < #p.modes[i].structures and not busy[i] then structure[i], crossed = k + 1, true end
  end
  return crossed and { at = state.at, structure = structure } or state
end

--- What a state becomes without communication: modes change their structure, and replicated axes
--- take their places. Both only make later steps smaller.
function M.settled(p, state)
  state = cross(p, state, M.occupied(p, state))
  local on, axes = M.occupied(p, state), {}
  for x, at in ipairs(state.at) do
    if at == M.REPLICATED and M.is_free(p, state, on, x) then axes[#axes + 1] = x end
  end
  if #axes == 0 then return state end
  return M.moved(state, axes, function(x) return p.goal.at[x] end)
end

function M.key(state)
  return table.concat(state.at, ",") .. ":" .. table.concat(state.structure, ",")
end

--- The elements of a part, with the padding of the common factors.
function M.part_size(p, state)
  local n = 1
  for i, k in ipairs(state.structure) do n = n * p.modes[i].structures[k].top end
  for x, at in ipairs(state.at) do
    if at > 0 then n = n // p.extent[x] end
  end
  return n
end

-- {====== Shardings of states ======

-- The factors of a mode: axes, and memory with its place in `place`.
local function factors_of(p, ids, on, place)
  local factors, last = {}, nil
  for _, id in ipairs(ids) do
    local x = on[id]
    if x == nil then
      factors[#factors + 1] = { extent = p.atoms[id].extent, key = place[id], weight =
        p.atoms[id].weight }
    elseif x ~= last then
      factors[#factors + 1] = { extent = p.extent[x], axis = p.axes[x] }
    end
    last = x
  end
  return factors
end

-- The first of the factors at the end that lie in memory in one run and may be padded to this
-- extent; nil if there is none.
local function first_of_run(factors, pad)
  local first = #factors
  if first == 0 or factors[first].axis then return nil end
  while first > 1 and factors[first - 1].key == factors[first].key - 1 do first = first - 1 end
  while first < #factors and pad % factors[first].weight ~= 0 do first = first + 1 end
  return pad % factors[first].weight == 0 and first or nil
end

-- Another padded extent: the run at the end becomes one factor.
local function set_pad(factors, pad)
  local first = assert(first_of_run(factors, pad), "padding that no factor holds")
  factors[first].extent = pad // factors[first].weight
  for j = #factors, first + 1, -1 do factors[j] = nil end
end

local function places_of(state)
  local place = {}
  for at, id in ipairs(state.order) do place[id] = at end
  return place
end

--- A state in memory with no more padding than `pads`, where its order allows that.
function M.narrowed(p, state, pads)
  local place, on, out = places_of(state), M.occupied(p, state), {}
  for i, k in ipairs(state.structure) do
    local factors = factors_of(p, p.modes[i].structures[k].ids, on, place)
    local is_less = pads[i] < state.pads[i] and first_of_run(factors, pads[i])
    out[i] = is_less and pads[i] or state.pads[i]
  end
  return M.in_memory(state, { order = state.order, pads = out })
end

--- The sharding that a state in memory is.
function M.sharding(p, state)
  local place, modes, partial, on = places_of(state), {}, {}, M.occupied(p, state)
  for i, k in ipairs(state.structure) do
    local s = p.modes[i].structures[k]
    modes[i] = factors_of(p, s.ids, on, place)
    if state.pads[i] ~= s.top then set_pad(modes[i], state.pads[i]) end
  end
  for x, at in ipairs(state.at) do
    if at == M.PARTIAL then partial[p.axes[x]] = true end
  end
  return shardings.arranged(p.mesh, p.shape, p.names, modes, partial)
end

--- The local atoms of a state, fastest first, by mode.
function M.local_atoms(p, state)
  local on, out = M.occupied(p, state), {}
  for i, k in ipairs(state.structure) do
    for _, id in ipairs(p.modes[i].structures[k].ids) do
      if not on[id] then out[#out + 1] = id end
    end
  end
  return out
end

--- The padded extents of a state's common factors.
function M.tops(p, state)
  local out = {}
  for i, k in ipairs(state.structure) do out[i] = p.modes[i].structures[k].top end
  return out
end

--- A state with memory: the same axes and structures, this order and padding.
function M.in_memory(state, memory)
  return { at = state.at, structure = state.structure, order = memory.order, pads = memory.pads }
end

--- The sharding of a state whose order in memory is not known yet.
function M.rough(p, state)
  return M.sharding(p, M.in_memory(state, { order = M.local_atoms(p, state),
    pads = M.tops(p, state) }))
end

return M
