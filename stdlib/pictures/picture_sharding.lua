-- picture_sharding.lua: pictures of shardings and meshes: which ranks have each element, and where
-- in their parts. A cell says "R0,4 +12": ranks 0 and 4, at offset 12 of their parts. Its colour is
-- that of the first rank.
local owning = require "cuttle.owners"
local color = require "cuttle.picture_color"
local palette = require "cuttle.palette"
local M = {}

local MAX_LISTED <const> = 4 -- ranks of a colour in the legend

-- Which ranks come first in cells of which colour.
local function legend_of(firsts)
  local by_color, legend = {}, {}
  for _, rank in ipairs(firsts) do
    local key = rank % #palette
    by_color[key] = by_color[key] or {}
    table.insert(by_color[key], "R" .. rank)
  end
  for key = 0, #palette - 1 do
    local list = by_color[key]
    local more = list and #list > MAX_LISTED and ", ..." or ""
    legend[#legend + 1] = list and { color = key,
      text = table.concat(list, ", ", 1, math.min(#list, MAX_LISTED)) .. more }
  end
  return legend
end

-- The colours of first ranks, if no other rule is wanted.
local function paint(picture, how, first_of)
  if how.color ~= nil then return color.colorize(picture, how) end
  local firsts, seen = {}, {}
  color.each_cell(picture.panels, function(cell)
    local rank = first_of(cell)
    cell.color = rank
    if not seen[rank] then firsts[#firsts + 1], seen[rank] = rank, true end
  end)
  table.sort(firsts)
  picture.color_by, picture.legend = "rank", legend_of(firsts)
end

--- Of a sharding: a cell for each element of the tensor.
function M.of_sharding(tools, s, how)
  local tile = layout(s.shape)
  if s.names then tile = tile:named(table.unpack(s.names)) end
  local picture, first = tools.new_picture("sharding", tostring(s), tile), {}
  local owners = require("cuttle.sharding").owners -- loaded when it is first used
  local counted, memo = shape(layout(s.shape)), {}
  color.each_cell(tools.add_panels(picture, tile, "result", how), function(cell)
    local ranks, offset = owners(s, idx2crd(cell.linear, counted), memo)
    cell.offset, first[cell] = offset, ranks[1]
    cell.lines = { "R" .. owning.listed(ranks), "+" .. offset }
    cell.value = table.concat(cell.lines, " ")
  end)
  for _, axis in ipairs(s.mesh.axes) do
    if s.partial[axis] then
      table.insert(picture.notes, ("over axis %s each rank holds a summand"):format(axis))
    end
  end
  paint(picture, how, function(cell) return first[cell] end)
  return picture
end

--- Of a mesh: its layout, a cell for each rank.
function M.of_mesh(tools, m, how)
  local picture = tools.new_picture("sharding", tostring(m), m.layout)
  color.each_cell(tools.add_panels(picture, m.layout, "result", how), function(cell)
    cell.lines = { "R" .. cell.offset }
    cell.value = cell.lines[1]
  end)
  paint(picture, how, function(cell) return cell.offset end)
  return picture
end

return M
