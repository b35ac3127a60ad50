-- mesh_type.lua: a mesh of devices: axes with names and extents, and a layout from coordinates on
-- them to ranks. A rank is the number of one device, from 0. Other modules read:
--   m.layout, m.axes (names, nearest first), m.n (ranks), m.extent[axis]
--   m:rank(coord), m:coord(rank), m:digit(rank, axis): a coordinate on one axis
--   m:group(rank, axes), m:groups(axes), m:place(rank, axes): the rank's index in its group
--   m.links: what plans take for its links (plan_cost.lua), or nil: the defaults
--   m:span(axes): the product of extents; mesh.axis_list(m, x, op): names, checked
-- mesh.lua adds the methods and the operators that other modules have.
local each_leaf = require "cuttle.each_leaf"
local near = require "cuttle.near"
local option_names = require "cuttle.option_names"
local tiles = require "cuttle.tiles"
local M = {}

local methods = {}
M.methods = methods
M.operators = {} -- of tensors that are spread over a mesh, by name

-- A mesh stands for its layout in functions of layouts: size(m), rank(m).
local mesh_type = tiles.new_type("mesh", methods, { "layout", "axes", "n", "extent", "links" })
mesh_type.__layout = "layout"

local EXPECTED <const> = 'mesh{data = 2, model = 4}, mesh"(data=2,model=4)" or a layout with names'

-- {====== Making ======

-- Axes in alphabetical order: a table of Lua has none of its own.
local function layout_of_table(extents)
  local names, shape = {}, {}
  for name in pairs(extents) do
    if type(name) ~= "string" then
      tiles.fail("mesh", "the key %s is not the name of an axis; expected %s", tostring(name),
        EXPECTED)
    end
    names[#names + 1] = name
  end
  table.sort(names)
  for i, name in ipairs(names) do
    shape[i] = math.tointeger(extents[name])
    if shape[i] == nil or shape[i] < 1 then
      tiles.fail("mesh", "axis '%s' has the extent %s; a number of devices was expected, 1 or more",
        name, tostring(extents[name]))
    end
  end
  if #names == 0 then tiles.fail("mesh", "there is no axis; expected %s", EXPECTED) end
  return layout(shape):named(table.unpack(names))
end

local function layout_of(x)
  local kind = tiles.type_name(x)
  if kind == "table" then return layout_of_table(x) end
  if kind == "string" then return L(x) end
  if kind == "layout" and not x.swizzle then return x end
  tiles.fail("mesh", "argument 1 is %s; expected %s",
    kind == "layout" and "a swizzled layout" or "of type " .. kind, EXPECTED)
end

-- The flat modes {extent, stride} of a layout, fastest first, without those of extent 1.
local function flat_modes(layout)
  local modes = {}
  each_leaf(shape(layout), stride(layout), function(_, extent, step)
    if extent ~= 1 then modes[#modes + 1] = { extent = extent, stride = step } end
  end)
  return modes
end

-- Ranks must be 0 to size - 1, each once: by stride, each mode counts what those before it hold.
local function check_bijection(layout)
  local digits, next_stride = flat_modes(layout), 1
  for _, digit in ipairs(digits) do
    if math.type(digit.stride) ~= "integer" then
      tiles.fail("mesh", "a stride of %s is not a number; a layout from coordinates to ranks was "
        .. "expected", layout)
    end
  end
  table.sort(digits, function(a, b) return a.stride < b.stride end)
  for _, digit in ipairs(digits) do
    if digit.extent > 1 then
      if digit.stride ~= next_stride then
        tiles.fail("mesh", "%s does not give the ranks 0 to %d, each once: no mode has the stride "
          .. "%d; leave the strides out, or permute those of a compact layout", layout,
          size(layout) - 1, next_stride)
      end
      next_stride = next_stride * digit.extent
    end
  end
end

local function check_names(layout, names)
  local seen = {}
  for i, name in ipairs(names) do
    if not name then
      tiles.fail("mesh", "mode %d of %s has no name; each axis of a mesh has one, as in "
        .. '"(data=2,model=4)"', i - 1, layout)
    elseif seen[name] then
      tiles.fail("mesh", "%s has two axes with the name '%s'; give them different ones", layout,
        name)
    end
    seen[name] = true
  end
end

local function links_of(options)
  if options == nil then return nil end
  option_names.check("mesh", options, { "links" }, "{links = {node = 4}}")
  return require "cuttle.plan_cost".links(options.links, "mesh")
end

--- mesh(x[, {links = {...}}]): axes and their extents, a text, a layout or another mesh.
function M.mesh(x, options)
  local is_mesh = getmetatable(x) == mesh_type
  if is_mesh and options == nil then return x end
  local layout = is_mesh and x.layout or layout_of(x)
  local names = layout:names()
  check_names(layout, names)
  check_bijection(layout)
  local m = { layout = layout, axes = names, n = size(layout), extent = {}, digits = {},
    links = links_of(options) }
  for i, name in ipairs(names) do
    m.extent[name] = size(layout, i - 1)
    m.digits[name] = flat_modes(get_mode(layout, i - 1))
  end
  return setmetatable(m, mesh_type)
end

-- {====== Arguments ======

function M.is_mesh(x) return getmetatable(x) == mesh_type end

--- A mesh, or what makes one.
function M.check(x, op)
  if not M.is_mesh(x) then
    tiles.fail(op, "a mesh was expected, not a value of type %s; write m = %s", tiles.type_name(x),
      "mesh{data = 2, model = 4}")
  end
  return x
end

--- That the mesh has this axis; `op` begins the message.
function M.check_axis(m, name, op)
  if m.extent[name] == nil then
    local nearest = near.nearest(tostring(name), m.axes)
    tiles.fail(op, "there is no axis '%s' in %s; %s", tostring(name), tostring(m),
      nearest and "did you mean " .. nearest .. "?"
        or "its axes are " .. table.concat(m.axes, ", "))
  end
  return name
end

--- Names of axes as a list: of a name, a list of names, or all of the mesh for nil.
function M.axis_list(m, x, op)
  if x == nil then return m.axes end
  local list, seen = type(x) == "table" and x or { x }, {}
  for _, name in ipairs(list) do
    M.check_axis(m, name, op)
    if seen[name] then tiles.fail(op, "axis '%s' is named twice; name each axis once", name) end
    seen[name] = true
  end
  return list
end

local function check_rank(m, rank, op)
  local r = math.tointeger(rank)
  if r == nil or r < 0 or r >= m.n then
    tiles.fail(op, "there is no rank %s in %s; expected 0 to %d", tostring(rank), tostring(m),
      m.n - 1)
  end
  return r
end

-- {====== Coordinates and ranks ======

-- What the coordinate on one axis adds to the rank.
local function step_of(m, axis, coord)
  local rank = 0
  for _, digit in ipairs(m.digits[axis]) do
    rank, coord = rank + coord % digit.extent * digit.stride, coord // digit.extent
  end
  return rank
end

--- m:digit(rank, axis): the rank's coordinate on one axis. It checks nothing.
function methods.digit(m, rank, axis)
  local coord, weight = 0, 1
  for _, digit in ipairs(m.digits[axis]) do
    coord = coord + rank // digit.stride % digit.extent * weight
    weight = weight * digit.extent
  end
  return coord
end

local function check_coord(m, coord)
  if type(coord) ~= "table" then
    tiles.fail("mesh:rank", "argument 1 is of type %s; a coordinate was expected, as in "
      .. "m:rank{%s = 0}", tiles.type_name(coord), table.concat(m.axes, " = 0, "))
  end
  for name in pairs(coord) do M.check_axis(m, name, "mesh:rank") end
end

--- m:rank{data = 1, model = 2}; an axis that is not named counts as 0.
function methods.rank(m, coord)
  check_coord(m, coord)
  local rank = 0
  for _, name in ipairs(m.axes) do
    local i = math.tointeger(coord[name] or 0)
    if i == nil or i < 0 or i >= m.extent[name] then
      tiles.fail("mesh:rank", "axis '%s' has no coordinate %s; expected 0 to %d", name,
        tostring(coord[name]), m.extent[name] - 1)
    end
    rank = rank + step_of(m, name, i)
  end
  return rank
end

--- m:coord(6): {data = 0, model = 3}
function methods.coord(m, rank)
  local coord, r = {}, check_rank(m, rank, "mesh:coord")
  for _, name in ipairs(m.axes) do coord[name] = m:digit(r, name) end
  return coord
end

-- {====== Groups ======

--- m:size(): how many ranks; m:size("model"): the extent of an axis.
function methods.size(m, axis)
  if axis == nil then return m.n end
  return m.extent[M.check_axis(m, axis, "mesh:size")]
end

--- m:span(axes): how many ranks a group over these axes has.
function methods.span(m, axes)
  local n = 1
  for _, name in ipairs(M.axis_list(m, axes, "mesh:span")) do n = n * m.extent[name] end
  return n
end

--- m:place(rank, axes): the index of a rank in its group, from 0.
function methods.place(m, rank, axes)
  local place, weight = 0, 1
  for _, name in ipairs(M.axis_list(m, axes, "mesh:place")) do
    place = place + m:digit(rank, name) * weight
    weight = weight * m.extent[name]
  end
  return place
end

-- Steps from the first rank of a group to each of its ranks.
local function steps_of(m, axes)
  local steps = { 0 }
  for _, name in ipairs(axes) do
    local n = #steps
    for i = 1, m.extent[name] - 1 do
      local step = step_of(m, name, i)
      for j = 1, n do steps[i * n + j] = steps[j] + step end
    end
  end
  return steps
end

--- m:group(rank, axes): the ranks that differ from this one on these axes only, ordered by their
--- coordinates on them, the first axis fastest. Without axes: all ranks.
function methods.group(m, rank, axes)
  local r, first = check_rank(m, rank, "mesh:group"), rank
  axes = M.axis_list(m, axes, "mesh:group")
  for _, name in ipairs(axes) do first = first - step_of(m, name, m:digit(r, name)) end
  local group = steps_of(m, axes)
  for i, step in ipairs(group) do group[i] = first + step end
  return group
end

--- m:groups(axes): all groups over these axes, by their first rank.
function methods.groups(m, axes)
  local groups, steps, seen = {}, steps_of(m, M.axis_list(m, axes, "mesh:groups")), {}
  for rank = 0, m.n - 1 do
    if not seen[rank] then
      local group = {}
      for i, step in ipairs(steps) do
        group[i] = rank + step
        seen[group[i]] = true
      end
      groups[#groups + 1] = group
    end
  end
  return groups
end

-- {====== Printing ======

tiles.add_pictures(methods)

function mesh_type.__tostring(m) return "mesh " .. tostring(m.layout) end

function mesh_type.__eq(a, b)
  return M.is_mesh(a) and M.is_mesh(b) and tostring(a.layout) == tostring(b.layout)
end

return M
