-- spec.lua: reads the spec of a sharding for a mesh and a tensor: its factors, names and axes of
-- partial sums. What they make is sharding.lua's; the text is taken apart by sharding_text.lua.
local meshes = require "cuttle.mesh_type"
local texts = require "cuttle.sharding_text"
local tiles = require "cuttle.tiles"
local M = {}

local function ceil_div(a, b) return (a + b - 1) // b end

-- {====== Factors ======

-- The mesh's name of an axis that a text names or counts; nil for 0, memory.
local function axis_name(r, word)
  if word == 0 then return nil end
  local name = type(word) == "number" and (r.mesh.axes[word] or word) or word
  return meshes.check_axis(r.mesh, name, r.op)
end

-- An axis is used once.
local function use_axis(r, word)
  local name = axis_name(r, word)
  if name == nil then
    tiles.fail(r.op, "@0 is memory, no axis; the axes are %s", table.concat(r.mesh.axes, ", "))
  elseif r.used[name] then
    tiles.fail(r.op, "axis '%s' is used twice in %s; an axis shards one mode or holds partial "
      .. "sums", name, r.text)
  end
  r.used[name] = true
  return name
end

local function product(tree)
  if type(tree) == "number" then return tree end
  local n = 1
  for _, entry in ipairs(tree) do n = n * product(entry) end
  return n
end

-- "M@data@model": a block, then the axes. The block lies in memory by `key`.
local function blocks(r, entry, extent, key)
  local axes, span = {}, 1
  for j, word in ipairs(entry.axes) do
    axes[j] = { axis = use_axis(r, word) }
    axes[j].extent = r.mesh.extent[axes[j].axis]
    span = span * axes[j].extent
  end
  table.insert(axes, 1, { extent = ceil_div(extent, span), key = key })
  return axes
end

-- One stride of a layout: an axis, or memory.
local function leaf(r, extent, stride, out)
  local axis = stride.axis and axis_name(r, stride.axis)
  if axis == nil then
    out[#out + 1] = { extent = extent, key = stride.step }
    return
  elseif extent == 1 and r.mesh.extent[axis] > 1 then
    tiles.fail(r.op, "an extent of 1 lies on axis '%s', which has %d ranks; leave it out", axis,
      r.mesh.extent[axis])
  end
  if stride.step ~= 1 or extent ~= r.mesh.extent[axis] then
    tiles.fail(r.op, "%d:%d@%s is not the whole axis '%s', which is %d:1@%s; to use a part of an "
      .. "axis, give the mesh an axis of extent %d", extent, stride.step, axis, axis,
      r.mesh.extent[axis], axis, extent)
  end
  out[#out + 1] = { extent = extent, axis = use_axis(r, axis) }
end

local function leaves(r, shape, stride, out)
  local deep = type(shape) == "table"
  if deep ~= (stride ~= nil and stride.step == nil) or (deep and #shape ~= #stride) then
    tiles.fail(r.op, "the shape and the strides of '%s' are not nested alike", r.text)
  elseif not deep then
    leaf(r, shape, stride, out)
    return out
  end
  for i, entry in ipairs(shape) do leaves(r, entry, stride[i], out) end
  return out
end

-- The factors of mode i; `stride` is its tree of strides, nil in a text without.
local function factors_of(r, entry, i, stride)
  local extent = r.shape[i]
  if entry.shape and (stride == nil or #entry.axes > 0) then
    if product(entry.shape) ~= extent then
      tiles.fail(r.op, "mode %s of '%s' has %d elements, the tensor's %d", entry.name or i - 1,
        r.text, product(entry.shape), extent)
    end
  end
  if stride == nil then return blocks(r, entry, extent, r.places[i]) end
  if #entry.axes > 0 then return blocks(r, entry, extent, stride.step or i) end
  if entry.shape == nil then
    tiles.fail(r.op, "mode %s of '%s' has a stride, but no extent; write %s=%d", entry.name or
      i - 1, r.text, entry.name or "_", extent)
  end
  return leaves(r, entry.shape, stride, {})
end

-- The local strides of a layout must be compact: of the parts, or of the whole tensor where a mode
-- is said to be an axis by its name.
local function check_compact(r, modes, spec)
  local local_items, whole_items = {}, {}
  for i, factors in ipairs(modes) do
    for _, factor in ipairs(factors) do
      if factor.key then
        local_items[#local_items + 1] = { factor.key, factor.extent }
        local named = #spec.modes[i].axes > 0
        whole_items[#whole_items + 1] = { factor.key, named and r.shape[i] or factor.extent }
      end
    end
  end
  local function missing(items)
    table.sort(items, function(a, b) return a[1] < b[1] end)
    local want = 1
    for _, item in ipairs(items) do
      if item[2] > 1 then
        if item[1] ~= want then return want end
        want = want * item[2]
      end
    end
  end
  local want = missing(local_items)
  if want and missing(whole_items) then
    tiles.fail(r.op, "the memory of a part is not compact in '%s': no extent has the stride %d; "
      .. "a part holds its elements once and without gaps", r.text, want)
  end
end

-- {====== Arguments ======

-- Where each mode of a layout comes in memory: the one with the smallest stride first.
local function places_of(layout)
  local step, list, places = {}, {}, {}
  for i = 1, rank(layout) do
    step[i], list[i] = math.huge, i
    local mode = flatten(get_mode(layout, i - 1))
    for j = 0, rank(mode) - 1 do
      local stride = size(mode, j) > 1 and math.abs(stride(mode, j)) or 0
      if stride > 0 then step[i] = math.min(step[i], stride) end
    end
  end
  table.sort(list, function(a, b)
    if step[a] ~= step[b] then return step[a] < step[b] end
    return a < b
  end)
  for place, i in ipairs(list) do places[i] = place end
  return places
end

-- Extents, names and places in memory of the modes of a tensor, layout, shape or text; nil: what
-- the spec says, column-major.
local function describe(shape, spec, r)
  local extents, called, places = {}, {}, {}
  if shape == nil then
    for i, entry in ipairs(spec.modes) do
      if entry.shape == nil then
        tiles.fail(r.op, "mode %s of '%s' has no extent; write %s=1024, or give a shape",
          entry.name or i - 1, r.text, entry.name or "_")
      end
      extents[i], called[i], places[i] = product(entry.shape), false, i
    end
    return extents, called, places
  end
  local layout = tiles.type_name(shape) == "tensor" and shape.layout or layout(shape)
  local given = layout:names()
  for i = 1, rank(layout) do
    extents[i], called[i] = size(layout, i - 1), given[i] and given[i]:match "^[^@]+"
  end
  return extents, called, places_of(layout)
end

local function check_rank(r, spec)
  if #spec.modes ~= #r.shape then
    tiles.fail(r.op, "'%s' has %d modes, the tensor (%s) has %d; write one entry for each mode, "
      .. "such as M, M@data or _", r.text, #spec.modes, table.concat(r.shape, ","), #r.shape)
  end
  for i, n in ipairs(r.shape) do
    if n < 1 then tiles.fail(r.op, "mode %d of the tensor has no elements", i - 1) end
  end
end

local function merge_names(r, spec, names)
  for i, entry in ipairs(spec.modes) do
    if entry.name and names[i] and entry.name ~= names[i] then
      tiles.fail(r.op, "mode %d is named %s in '%s' and %s in the tensor; write its entries in the "
        .. "tensor's order", i - 1, entry.name, r.text, names[i])
    end
    names[i] = entry.name or names[i]
  end
  return names
end

-- The text that a spec is, or that a layout prints as.
local function spec_text(spec, op)
  local kind = tiles.type_name(spec)
  if kind == "string" then return spec end
  if kind == "layout" and not spec.swizzle then return tostring(spec) end
  tiles.fail(op, "the spec is %s; expected a text such as \"(M@data,K)\", a layout or a sharding",
    kind == "layout" and "a swizzled layout" or "of type " .. kind)
end

local function read_modes(r, spec)
  local modes = {}
  if spec.strides and #spec.strides ~= #spec.modes then
    tiles.fail(r.op, "the shape and the strides of '%s' are not nested alike", r.text)
  end
  for i, entry in ipairs(spec.modes) do
    modes[i] = factors_of(r, entry, i, spec.strides and spec.strides[i])
  end
  if spec.strides then check_compact(r, modes, spec) end
  return modes
end

--- What a spec, a text or a layout, says of a tensor over a mesh: {shape =, names =, modes =,
--- partial =}; modes are lists of {extent =, axis =} or {extent =, key =}, which lie in memory by
--- their keys. `shape`: a shape, layout or tensor; nil if the spec gives all extents.
function M.read(mesh, shape, spec, op)
  local r = { mesh = mesh, op = op, text = spec_text(spec, op), used = {} }
  local read = texts.read(r.text, op)
  local names
  r.shape, names, r.places = describe(shape, read, r)
  check_rank(r, read)
  names = merge_names(r, read, names)
  local modes, partial = read_modes(r, read), {}
  for _, word in ipairs(read.partial) do partial[use_axis(r, word)] = true end
  return { shape = r.shape, names = names, modes = modes, partial = partial }
end

return M
