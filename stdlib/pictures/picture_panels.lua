-- picture_panels.lua: the panels of a picture (picture.lua): which modes go along which axis, and
-- the grids of a layout, added under a role.
local fail = require "cuttle.fail".fail
local lists = require "cuttle.lists"
local grid = require "cuttle.picture_grid"
local plural = require "cuttle.plural"
local M = {}

-- A number, name or list of them as a list of mode numbers.
local function to_modes(value, layout, how)
  local list = {}
  for _, k in ipairs(type(value) == "table" and value or { value }) do
    for number, mode in pairs(grid.modes(layout)) do
      if mode.name == k then k = number end
    end
    if math.type(k) ~= "integer" or k < 0 or k >= rank(layout) then
      fail(how.op, "'%s' is not a mode of %s; a mode number or name was expected", k, layout)
    end
    list[#list + 1] = k
  end
  return list
end

-- The first mode that is not in the list, as a list; empty when the layout has no other.
local function first_besides(list, rank)
  local taken = lists.set(list)
  for k = 0, rank - 1 do
    if not taken[k] then return { k } end
  end
  return {}
end

-- Which modes go along which axis: of rank 1 all along the columns, else mode 0 along the rows.
local function axes_of(layout, how)
  local rank = rank(layout)
  local rows = how.rows and to_modes(how.rows, layout, how)
  local cols = how.cols and to_modes(how.cols, layout, how)
  if not rows then rows = rank < 2 and {} or first_besides(cols or {}, rank) end
  if not cols then cols = first_besides(rows, rank) end
  for k in pairs(lists.set(rows)) do
    if lists.set(cols)[k] then
      fail(how.op, "mode %d is in rows and in cols; each mode goes along one axis", k)
    end
  end
  return { rows = rows, cols = cols, max_cells = how.max_cells, max_panels = how.max_panels }
end

function M.check_static(layout, how)
  if not grid.is_static(layout) then
    fail(how.op, "the layout %s has extents or strides that are known only at run time; a "
      .. "picture needs numbers", layout)
  end
end

function M.new_picture(kind, title, layout)
  return { kind = kind, title = title, layout = tostring(layout), drawn = layout, panels = {},
           notes = {}, color_by = "offset" }
end

-- Adds the grids of a layout to the picture; returns the list of them.
function M.add_panels(picture, layout, role, how)
  local panels, more = grid.panels(layout, axes_of(layout, how))
  for _, panel in ipairs(panels) do
    panel.role = role
    picture.panels[#picture.panels + 1] = panel
  end
  if size(layout) == 0 then
    picture.notes[#picture.notes + 1] = ("%s has no elements"):format(layout)
  elseif more > 0 then
    picture.notes[#picture.notes + 1] = ("%s of %s"):format(plural(more, "more panel"), layout)
  end
  return panels
end

-- Operands have their own rank: rows and cols are meant for the result.
function M.for_operand(how)
  return { op = how.op, max_cells = how.max_cells, max_panels = how.max_panels }
end

return M
