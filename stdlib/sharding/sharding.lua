-- sharding.lua: how the modes of a tensor spread over the axes of a mesh. A sharding is a value: no
-- function here changes one.
--   s.mesh, s.shape      the mesh; the extents of the modes, as a list
--   s.names              a name or false for each mode
--   s.modes              each mode's factors, fastest first: {extent =, axis =} or, local,
--                        {extent =, pos =}. Their product is the padded extent, s.shape[i] or more.
--   s.partial            set of the axes over which each rank holds a summand
--   s.order              {mode, factor} of the local factors, fastest first: a part is compact in
--                        this order over padded extents. factor.pos is the place there. It leaves
--                        local factors of extent 1 out; they have no pos.
-- The other modules of this room call:
--   new(mesh, shape, spec, op)  of a text, a layout or a sharding
--   make(mesh, shape, names, modes, partial, order)     arranged(...): see there
--   text(s[, like])             its spec: new(s.mesh, s.shape, text(s)) equals s; see there
--   places(s), whole_layout(s)  the order of modes in memory; the whole tensor in that order
--   equal(a, b)                 the same parts in the same memory
--   layout(s)                   the coordinate layout: basis 0 memory, basis i axis i
--   is_partial(s)   replicated(s): list of axes that neither shard nor hold summands
--   padded(s): padded extents   part_size(s): elements of a part with its padding
--   strides(s): {[factor] = stride in memory}
--   part_layout(s): layout of a padded part     part_view(s, rank): of what is valid in it
--   valid(s, rank): valid extents of the part   is_even(s): no part has padding
--   owners(s, coord): ranks, offset             global(s, rank, mode, i): place in the tensor
local lists = require "cuttle.lists"
local meshes = require "cuttle.mesh_type"
local specs = require "cuttle.spec"
local texts = require "cuttle.sharding_text"
local tiles = require "cuttle.tiles"
local M = {}

local methods = {}
local sharding_type = tiles.new_type("sharding", methods,
  { "mesh", "shape", "names", "modes", "partial", "order" })

local function mode_text(s, i) return s.names[i] and "mode " .. s.names[i] or "mode " .. i - 1 end

-- {====== Factors ======

--- Notes in each local factor its place in `order`.
local function add_places(s)
  for place, at in ipairs(s.order) do s.modes[at[1]][at[2]].pos = place end
  return s
end

--- A sharding of its fields; `order` lists local factors with more than one element. It checks
--- nothing.
function M.make(mesh, shape, names, modes, partial, order)
  return add_places(setmetatable({ mesh = mesh, shape = shape, names = names, modes = modes,
    partial = partial, order = order }, sharding_type))
end

-- Local factors that are neighbours in their mode and in memory become one; those of extent 1 go,
-- but a mode keeps one factor. next_of[factor]: the local factor that follows in memory.
local function merge_mode(factors, next_of)
  local out = {}
  for _, factor in ipairs(factors) do
    local last = out[#out]
    if last and next_of[last.tail or last] == factor then
      last.extent, last.tail = last.extent * factor.extent, factor
    elseif factor.axis or factor.extent > 1 then
      out[#out + 1] = factor
    end
  end
  return #out > 0 and out or { { extent = 1 } }
end

-- modes: lists of {extent =, axis =} or {extent =, key =}, which lie in memory by their keys.
-- Returns the modes merged, and their order.
local function arrange(modes)
  local items, next_of, order = {}, {}, {}
  for _, factors in ipairs(modes) do
    for _, factor in ipairs(factors) do
      if not factor.axis and factor.extent > 1 then items[#items + 1] = factor end
    end
  end
  table.sort(items, function(a, b) return a.key < b.key end)
  for i, item in ipairs(items) do next_of[item] = items[i + 1] end
  local at = {}
  for i, factors in ipairs(modes) do
    modes[i] = merge_mode(factors, next_of)
    for j, factor in ipairs(modes[i]) do at[factor] = { i, j } end
  end
  for _, item in ipairs(items) do order[#order + 1] = at[item] end
  for _, factors in ipairs(modes) do
    for j, f in ipairs(factors) do factors[j] = { extent = f.extent, axis = f.axis } end
  end
  return modes, order
end

--- A sharding of factors that lie in memory by their `key`, a number; see arrange.
function M.arranged(mesh, shape, names, modes, partial)
  local merged, order = arrange(modes)
  return M.make(mesh, shape, names, merged, partial, order)
end

--- The strides of local factors in the memory of a part: {[factor] = stride}.
function M.strides(s)
  local strides, stride = {}, 1
  for _, at in ipairs(s.order) do
    local factor = s.modes[at[1]][at[2]]
    strides[factor], stride = stride, stride * factor.extent
  end
  for _, factors in ipairs(s.modes) do
    for _, factor in ipairs(factors) do
      if not factor.axis and factor.extent == 1 then strides[factor] = 0 end
    end
  end
  return strides
end

-- {====== Of specs ======

local function check_fits(s, op)
  for i, n in ipairs(M.padded(s)) do
    if n < s.shape[i] then
      tiles.fail(op, "%s has %d elements, but the factors of the layout count %d; give it at least "
        .. "as many", mode_text(s, i), s.shape[i], n)
    end
  end
end

-- What users see of an uneven part is a prefix of each mode's local elements: they lie in one run.
local function check_runs(s, op)
  local strides, padded = M.strides(s), M.padded(s)
  for i, factors in ipairs(s.modes) do
    local next_stride
    for _, factor in ipairs(factors) do
      if not factor.axis and padded[i] > s.shape[i] then
        if next_stride and strides[factor] ~= next_stride then
          tiles.fail(op, "%s of %d elements is padded to %d, and its local factors do not follow "
            .. "one another in memory; let one's stride be where the one before ends",
            mode_text(s, i), s.shape[i], padded[i])
        end
        next_stride = strides[factor] * factor.extent
      end
    end
  end
end

-- A sharding for a tensor of this shape; nil: of any.
local function check_sharding(s, mesh, shape, op)
  if s.mesh ~= mesh then
    tiles.fail(op, "the sharding is for %s; one for %s was expected", s.mesh, mesh)
  end
  local of = tiles.type_name(shape) == "tensor" and shape.layout or shape
  local extents = of and tiles.sizes(layout(of)) or s.shape
  if table.concat(extents, ",") ~= table.concat(s.shape, ",") then
    tiles.fail(op, "the sharding is for the shape (%s); the tensor has the shape (%s)",
      table.concat(s.shape, ","), table.concat(extents, ","))
  end
  return s
end

--- The sharding that a spec says: a text, a layout or a sharding. `shape`: a shape, layout or
--- tensor; nil if the spec gives all extents. `op` begins messages.
function M.new(mesh, shape, spec, op)
  op = op or "sharding"
  meshes.check(mesh, op)
  if M.is_sharding(spec) then return check_sharding(spec, mesh, shape, op) end
  local r = specs.read(mesh, shape, spec, op)
  local s = M.arranged(mesh, r.shape, r.names, r.modes, r.partial)
  check_fits(s, op)
  check_runs(s, op)
  return s
end

function M.is_sharding(x) return getmetatable(x) == sharding_type end

-- {====== Asking ======

--- The spec as a text; of a sharding of a tensor without strides, if nothing is said. `like`: it
--- is one of a tensor whose modes lie in memory as those of this sharding do.
function M.text(s, like) return texts.write(s, M.strides(s), like and M.places(like)) end

--- Do both put the same elements at the same places?
function M.equal(a, b)
  return a.mesh == b.mesh and table.concat(a.shape, ",") == table.concat(b.shape, ",")
    and texts.write(M.nameless(a), M.strides(a)) == texts.write(M.nameless(b), M.strides(b))
end

--- The same sharding of modes without names.
function M.nameless(s)
  local names = {}
  for i = 1, #s.shape do names[i] = false end
  return setmetatable({ mesh = s.mesh, shape = s.shape, names = names, modes = s.modes,
    partial = s.partial, order = s.order }, sharding_type)
end

--- The layout from coordinates of the (padded) tensor to places: basis 0 is the memory of a part,
--- basis i axis i of the mesh.
function M.layout(s)
  local number, strides, shape, stride = {}, M.strides(s), {}, {}
  for i, name in ipairs(s.mesh.axes) do number[name] = i end
  for i, factors in ipairs(s.modes) do
    shape[i], stride[i] = {}, {}
    for j, factor in ipairs(factors) do
      shape[i][j] = factor.extent
      stride[i][j] = factor.axis and E(number[factor.axis]) or strides[factor] * E(0)
    end
    if #factors == 1 then shape[i], stride[i] = shape[i][1], stride[i][1] end
  end
  return M.with_names(s, layout(shape, stride))
end

--- A layout with the names of the sharding's modes.
function M.with_names(s, layout)
  return layout:named(table.unpack(s.names))
end

function M.is_partial(s) return next(s.partial) ~= nil end

--- Where each mode comes in the memory of a part: a list of places.
function M.places(s)
  local places, n, last, is_ascending = {}, 0, 0, true
  for _, at in ipairs(s.order) do
    if not places[at[1]] then
      n, places[at[1]], is_ascending, last = n + 1, n + 1, is_ascending and at[1] > last, at[1]
    end
  end
  for i = 1, #s.shape do -- modes that have no memory in a part stand where they disturb no order
    if is_ascending then
      places[i] = i
    elseif not places[i] then
      n, places[i] = n + 1, n + 1
    end
  end
  return places
end

--- The layout of the whole tensor: compact, its modes in the order of a part.
function M.whole_layout(s)
  local order, strides, stride = {}, {}, 1
  for i, place in ipairs(M.places(s)) do order[place] = i end
  for _, i in ipairs(order) do strides[i], stride = stride, stride * s.shape[i] end
  if #s.shape == 1 then return M.with_names(s, layout(s.shape[1])) end
  return M.with_names(s, layout(s.shape, strides))
end

--- The axes that shard modes: {[axis] = {mode, factor}}.
function M.sharding_axes(s)
  local axes = {}
  for i, factors in ipairs(s.modes) do
    for j, factor in ipairs(factors) do
      if factor.axis then axes[factor.axis] = { i, j } end
    end
  end
  return axes
end

--- The axes that neither shard a mode nor hold partial sums, in the order of the mesh.
function M.replicated(s)
  local used = M.sharding_axes(s)
  return lists.filter(s.mesh.axes, function(name) return not used[name] and not s.partial[name] end)
end

local function extents(s, counts)
  local out = {}
  for i, factors in ipairs(s.modes) do
    out[i] = 1
    for _, factor in ipairs(factors) do
      if counts(factor) then out[i] = out[i] * factor.extent end
    end
  end
  return out
end

--- The extents with padding: products of all factors.
function M.padded(s) return extents(s, function() return true end) end

--- The extents of a part with its padding: products of local factors.
function M.part_extents(s) return extents(s, function(factor) return not factor.axis end) end

function M.part_size(s)
  local n = 1
  for _, extent in ipairs(M.part_extents(s)) do n = n * extent end
  return n
end

function M.is_even(s)
  for i, n in ipairs(M.padded(s)) do
    if n ~= s.shape[i] then return false end
  end
  return true
end

-- {====== Parts ======

--- Where element `i` of a part's mode lies in the tensor: i counts the local factors of the mode,
--- fastest first. The result may lie in the padding, at s.shape[mode] or after.
function M.global(s, rank, mode, i)
  local at, weight = 0, 1
  for _, factor in ipairs(s.modes[mode]) do
    local digit
    if factor.axis then
      digit = s.mesh:digit(rank, factor.axis)
    else
      digit, i = i % factor.extent, i // factor.extent
    end
    at, weight = at + digit * weight, weight * factor.extent
  end
  return at
end

-- How many of a mode's local elements lie in the tensor. Places grow with i, so they are the first.
local function valid_extent(s, rank, mode, n)
  local low, high = 0, n
  while low < high do
    local middle = (low + high) // 2
    if M.global(s, rank, mode, middle) < s.shape[mode] then low = middle + 1 else high = middle end
  end
  return low
end

--- The valid extents of a rank's part: the first so many elements of each mode. 0 where the rank
--- has only padding.
function M.valid(s, rank)
  local out = {}
  for i, n in ipairs(M.part_extents(s)) do out[i] = valid_extent(s, rank, i, n) end
  return out
end

-- Shape and stride of a mode of the part.
local function part_mode(factors, strides)
  local shape, stride = {}, {}
  for _, factor in ipairs(factors) do
    if not factor.axis then
      local last = #shape
      if last > 0 and stride[last] * shape[last] == strides[factor] then
        shape[last] = shape[last] * factor.extent
      else
        shape[last + 1], stride[last + 1] = factor.extent, strides[factor]
      end
    end
  end
  if #shape == 0 then return 1, 0 end
  if #shape == 1 then return shape[1], stride[1] end
  return shape, stride
end

local function part_modes(s)
  local shape, stride, strides = {}, {}, M.strides(s)
  for i, factors in ipairs(s.modes) do shape[i], stride[i] = part_mode(factors, strides) end
  return shape, stride
end

-- With one mode it is M=4:1, as tensors have it, not (M=4):(1).
local function part_of_modes(s, shape, stride)
  local is_alone = #shape == 1 and type(shape[1]) == "number"
  return M.with_names(s, is_alone and layout(shape[1], stride[1]) or layout(shape, stride))
end

--- The layout of a part with its padding: from coordinates of the part to its memory.
function M.part_layout(s)
  return part_of_modes(s, part_modes(s))
end

--- The layout of what is valid in a rank's part.
function M.part_view(s, rank)
  local shape, stride = part_modes(s)
  for i, n in ipairs(M.valid(s, rank)) do
    if type(shape[i]) == "number" then shape[i] = n end -- else all of it is valid
  end
  return part_of_modes(s, shape, stride)
end

-- {====== Owners ======

local function check_coord(s, coord)
  local list = type(coord) == "table" and coord or { coord }
  if #list ~= #s.shape then
    tiles.fail("owner", "the coordinate has %d entries, the tensor %d modes", #list, #s.shape)
  end
  for i, at in ipairs(list) do
    if math.tointeger(at) == nil or at < 0 or at >= s.shape[i] then
      tiles.fail("owner", "%s has no element %s; expected 0 to %d", mode_text(s, i), tostring(at),
        s.shape[i] - 1)
    end
  end
  return list
end

local function ranks_on(s, on)
  local free = lists.filter(s.mesh.axes, function(name) return not on[name] end)
  local ranks = s.mesh:group(s.mesh:rank(on), free)
  table.sort(ranks)
  return ranks
end

--- Who has an element: a list of ranks, ascending, and its offset in their parts. Over an axis of
--- partial sums each rank has a summand of it. `memo`, a table of one sharding, keeps lists of
--- ranks for later calls.
function M.owners(s, coord, memo)
  local strides, on, offset = M.strides(s), {}, 0
  for i, at in ipairs(check_coord(s, coord)) do
    for _, factor in ipairs(s.modes[i]) do
      if factor.axis then
        on[factor.axis] = at % factor.extent
      else
        offset = offset + at % factor.extent * strides[factor]
      end
      at = at // factor.extent
    end
  end
  local first = s.mesh:rank(on)
  local ranks = memo and memo[first] or ranks_on(s, on)
  if memo then memo[first] = ranks end
  return ranks, offset
end

-- {====== The value ======

tiles.add_pictures(methods)

for _, name in ipairs { "layout", "replicated", "part_layout", "part_view", "valid" } do
  methods[name] = M[name]
end
function methods.text(s) return M.text(s) end
function methods.owner(s, coord) return M.owners(s, coord) end

function sharding_type.__tostring(s)
  return ("sharding %s of (%s) over %s"):format(M.text(s), table.concat(s.shape, ","), s.mesh)
end

function sharding_type.__eq(a, b)
  return M.is_sharding(a) and M.is_sharding(b) and M.equal(a, b)
end

--- m:sharding(shape, spec)
function M.mesh_sharding(m, shape, spec)
  return M.new(m, shape, spec, "mesh:sharding")
end

return M
