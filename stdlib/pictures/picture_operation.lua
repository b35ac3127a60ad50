-- picture_operation.lua: the picture of what an operation returned, beside its operands
-- (picture.lua).
local language = require "cuttle"
local color = require "cuttle.picture_color"
local derive = require "cuttle.derive"
local lists = require "cuttle.lists"
local grid = require "cuttle.picture_grid"
local panels = require "cuttle.picture_panels"
local tiles = require "cuttle.picture_tiles"
local type_name = require "cuttle.type_name"
local add_panels, for_operand, new_picture = panels.add_panels, panels.for_operand,
  panels.new_picture
local each_cell, colorize = color.each_cell, color.colorize
local M = {}

local MAX_KEYS <const> = 1 << 18 -- elements of a result whose offsets get a colour

local function is_layout_text(text) return type(text) == "string" and text:find(":", 1, true) end

-- An operand as a list of layouts to draw: a tiler of several layouts is several.
local function to_layouts(operand)
  if type_name(operand) == "layout" then return { operand } end
  if not is_layout_text(operand) then return {} end
  if not operand:find("^%s*<") then return { L(operand) } end
  local out = {}
  for _, item in ipairs(derive.items(operand)) do
    for _, layout in ipairs(to_layouts(item)) do out[#out + 1] = layout end
  end
  return out
end

local function add_operands(picture, op, how)
  for i, operand in ipairs(op.operands) do
    local role = i > 1 and op.tiles and "tiler" or "operand"
    for _, layout in ipairs(to_layouts(operand)) do
      add_panels(picture, layout, role, for_operand(how))
    end
  end
end

-- The keys of offsets: the coordinate of the modes after the first.
local function keys_of(zipped)
  local at, keys = grid.offset_at(zipped), {}
  local n = rank(zipped) > 1 and size(zipped, 0) or 1
  for linear = 0, math.min(size(zipped), MAX_KEYS) - 1 do
    local offset = at(linear)
    keys[offset] = keys[offset] or linear // n
  end
  return keys
end

-- What tells the copies of a product apart, whatever the form of the result.
local tiled_forms = {
  logical_product = zipped_product, zipped_product = zipped_product,
  tiled_product = zipped_product, flat_product = zipped_product,
  blocked_product = logical_product, raked_product = logical_product,
}

local function key_by_offset(picture, keys)
  each_cell(picture.panels, function(cell, panel)
    if panel.role ~= "tiler" then cell.color = keys[cell.offset] end
  end)
end

-- The copies of a product: they have the indices of the second mode's coordinate.
local function color_product(picture, _, op)
  local ok, zipped = pcall(tiled_forms[op.name], op.operands[1], op.operands[2])
  if not ok or rank(zipped) ~= 2 then
    return colorize(picture, { color = "offset" })
  end
  key_by_offset(picture, keys_of(zipped))
  each_cell(picture.panels, function(cell, panel)
    if panel.role == "tiler" then cell.color = cell.linear end
  end)
  picture.color_by = "tile"
end

local function note_outside(picture, layout, op, outside)
  if outside == 0 then return end
  local is_division = op.name:find("divide") ~= nil
  picture.notes[#picture.notes + 1] = ("%s%d of the result's %d elements (hatched) lie outside %s")
    :format(is_division and "the division rounds up: " or "", outside, size(layout),
      shape(op.operands[1].layout or op.operands[1]))
end

-- Elements of one tile have one colour, in the result and in the operand.
local function color_division(picture, layout, op)
  local outside = tiles.color(picture.panels, layout, op.operands, language[op.name], zipped_divide)
  if not outside then return colorize(picture, { color = "offset" }) end
  note_outside(picture, layout, op, outside)
  each_cell(picture.panels, function(cell, panel)
    if panel.role == "tiler" then cell.color = 0 end
  end)
  for _, panel in ipairs(picture.panels) do
    if panel.role == "operand" then
      color.group_by(panel, function(cell) return cell.color end)
    end
  end
  picture.color_by = "tile"
end

-- A(B(i)): a cell of B and the cell of A that it selects have the colour of the result's cell.
local function color_selected(picture, layout, op)
  local outside = type_name(op.operands[1]) == "layout"
    and tiles.color(picture.panels, layout, op.operands, composition, composition)
  local unit = rank(layout) > 1 and size(layout, 0) or 1
  if outside then
    note_outside(picture, layout, op, outside)
  else
    key_by_offset(picture, keys_of(layout))
  end
  each_cell(picture.panels, function(cell, panel)
    if panel.role == "tiler" then cell.color = cell.linear // unit end
  end)
  picture.color_by = "key"
end

-- The complement's copies of A fill its codomain: a grid of A along the rows, complement along the
-- columns, where each copy has a colour.
local function color_copies(picture, layout, op, how)
  local together = concat(op.operands[1], layout)
  each_cell(add_panels(picture, together, "together", for_operand(how)), function(cell)
    cell.color = cell.linear // size(together, 0)
  end)
  each_cell(picture.panels, function(cell, panel)
    if panel.role ~= "together" then
      cell.color = panel.role == "result" and cell.linear or 0
    end
  end)
  picture.color_by = "copy"
end

-- Operations whose operands are drawn beside the result, and how their cells are coloured.
local operations = {
  composition = { tiles = true, color = color_selected },
  complement = { color = color_copies },
}
for name in pairs(tiled_forms) do
  operations[name] = { tiles = true, color = color_product }
end
for _, name in ipairs { "logical_divide", "zipped_divide", "tiled_divide", "flat_divide" } do
  operations[name] = { tiles = true, color = color_division }
end

local function operation_title(name, operands)
  local texts = lists.map(operands, tostring)
  return ("%s(%s)"):format(name, table.concat(texts, ", "))
end

function M.origin_of(part)
  local list = table.pack(part:origin())
  if list.n == 0 then return nil end
  local operands = table.pack(table.unpack(list, 2, list.n))
  local first = operands[1]
  if type(first) == "string" and first:find("^%s*Sw?<[^o]*$") then
    operands[1] = swizzle(first)
  elseif type(first) ~= "userdata" then
    operands[1] = layout(first) -- a shape, which is column-major
  end
  return { name = list[1], operands = operands }
end

function M.all_static(operands)
  for _, operand in ipairs(operands) do
    for _, layout in ipairs(to_layouts(operand)) do
      if not grid.is_static(layout) then return false end
    end
  end
  return true
end

function M.of(layout, how)
  local op = M.origin_of(layout)
  local row = operations[op.name]
  op.tiles = row.tiles
  local picture = new_picture("operation", operation_title(op.name, op.operands), layout)
  add_operands(picture, op, how)
  add_panels(picture, layout, "result", how)
  row.color(picture, layout, op, how)
  if how.color ~= nil then colorize(picture, how) end
  return picture
end

function M.test(layout, how)
  local op = how.operands and M.origin_of(layout)
  return op and operations[op.name] ~= nil and #to_layouts(op.operands[1]) > 0
    and M.all_static(op.operands)
end

return M
