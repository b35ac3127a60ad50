-- picture_tiles.lua: which element of A each cell is in the picture of a division or composition
-- of A, by coordinate. Indices do not tell: a layout may have one index twice, and beyond the end
-- of a mode, where a division rounds up, indices look like those of the next column.
--
-- The same operation on an identity layout of A's shape gives these coordinates. Where the tiler
-- has one layout for a mode, the operation first coalesces the mode, and so does the shape here:
-- the modes that remain are those that a division pads.
local derive = require "cuttle.derive"
local grid = require "cuttle.picture_grid"
local M = {}

local MAX_KEYS <const> = 1 << 18 -- elements of a result whose coordinates get a colour

local function is_by_mode(tiler)
  return type(tiler) == "table" or type(tiler) == "string" and tiler:find("^%s*[<(]") ~= nil
    and not tiler:find("^%s*%b():")
end

-- The shape of A as the tiler sees it, nested like the tiler.
local function seen_shape(layout, tiler)
  if not is_by_mode(tiler) then return shape(coalesce(layout)) end
  local items, shape = derive.items(tiler), {}
  for k = 0, rank(layout) - 1 do
    shape[k + 1] = seen_shape(get_mode(layout, k), items[k + 1] or 1)
  end
  return shape
end

local function leaves_of(coordinate)
  return grid.leaves(type(coordinate) == "number" and { coordinate } or coordinate)
end

-- The coordinate that `layout` leads to as a text, and whether A has it.
local function coordinate_at(layout, extents)
  return function(linear)
    local leaves, inside = leaves_of(layout(linear)), true
    for i, leaf in ipairs(leaves) do
      inside = inside and leaf >= 0 and leaf < extents[i]
    end
    return table.concat(leaves, ","), inside
  end
end

-- Marks what lies outside A in the panels of the result, and returns how many there are.
local function mark_outside(panels, at, n)
  local outside = 0
  for linear = 0, n - 1 do
    local _, inside = at(linear)
    outside = outside + (inside and 0 or 1)
  end
  for _, panel in ipairs(outside > 0 and panels or {}) do
    for _, cell in ipairs(panel.role == "result" and panel.cells or {}) do
      local _, inside = at(cell.linear)
      cell.mark = not inside and "outside" or cell.mark
    end
  end
  return outside
end

local function have_same_sizes(a, b)
  if rank(a) ~= rank(b) then return false end
  for k = 0, rank(a) - 1 do
    if size(a, k) ~= size(b, k) then return false end
  end
  return true
end

local function key_cells(panels, role, at, keys)
  for _, panel in ipairs(panels) do
    for _, cell in ipairs(panel.role == role and panel.cells or {}) do
      cell.color = keys[at(cell.linear)]
    end
  end
end

-- Colours operand and result: elements that `tiled`, the operation whose second mode counts
-- tiles, gives to one tile have one colour. `make` made `layout` of the operands `made`. Returns
-- how many of its elements lie outside of A; nil if their coordinates cannot be had: then nothing
-- is coloured.
function M.color(panels, layout, made, make, tiled)
  local whole, tiler = made[1], made[2]
  whole = whole.layout or whole
  local shape = seen_shape(whole, tiler)
  local identity, extents = identity_layout(shape), leaves_of(shape)
  local ok, result = pcall(make, identity, tiler)
  local also, zipped = pcall(tiled, identity, tiler)
  if not ok or not also or not have_same_sizes(result, layout) then return nil end
  local at, tile_at, keys = coordinate_at(result, extents), coordinate_at(zipped, extents), {}
  local unit = rank(zipped) > 1 and size(zipped, 0) or 1
  local n = math.min(size(zipped), MAX_KEYS)
  for linear = 0, n - 1 do
    local coordinate = tile_at(linear)
    keys[coordinate] = keys[coordinate] or linear // unit
  end
  key_cells(panels, "operand", coordinate_at(identity, extents), keys)
  key_cells(panels, "result", at, keys)
  return mark_outside(panels, at, n)
end

return M
