-- picture_color.lua: which cells of a picture have the same colour. Each cell gets a key, which
-- palette.lua makes a colour, by a rule that has a name or by a function of the script. Keys also
-- show where tiles begin.
local palette = require "cuttle.palette"
local M = {}

local fail = require "cuttle.fail".fail
local lists = require "cuttle.lists"

-- f(cell, panel) of each cell of the panels.
function M.each_cell(panels, f)
  for _, panel in ipairs(panels) do
    for _, cell in ipairs(panel.cells) do f(cell, panel) end
  end
end

-- {====== Rules ======

-- The place among the tiles that the groups of an axis begin.
local function tile_starts(groups, n)
  local tile, at, starts = 0, {}, {}
  for _, group in ipairs(groups) do at[group.at] = true end
  for i = 0, n - 1 do
    tile = tile + (at[i] and 1 or 0)
    starts[i] = tile
  end
  return starts, tile + 1
end

local function color_by_tile(panels)
  for _, panel in ipairs(panels) do
    local rows, n_rows = tile_starts(panel.row_groups, panel.rows)
    local cols = tile_starts(panel.col_groups, panel.cols)
    for _, cell in ipairs(panel.cells) do
      cell.color = rows[cell.row] + n_rows * cols[cell.col]
    end
  end
end

-- A key from each cell alone.
local function per_cell(key_of)
  return function(panels, how)
    M.each_cell(panels, function(cell) cell.color = key_of(cell, how) end)
  end
end

-- Indices that are coordinates are no numbers; the 1-D coordinate of the cell stands for them.
function M.offset_key(cell)
  return math.type(cell.offset) == "integer" and cell.offset or cell.linear
end

local function first_owner(cell, field)
  return cell.owners and cell.owners[1] and cell.owners[1][field]
end

local BANKS <const>, BANK_BITS <const> = 32, 32

-- {====== Lines where keys change ======

-- Whether each cell of column (or row) `at` has another key than its neighbour before it.
local function changes_at(panel, at, by_col, key_of)
  local n, step = by_col and panel.rows or panel.cols, by_col and 1 or panel.cols
  for i = 0, n - 1 do
    local place = by_col and i * panel.cols + at or at * panel.cols + i
    if key_of(panel.cells[place + 1]) == key_of(panel.cells[place - step + 1]) then return false end
  end
  return n > 0
end

-- Where all keys change, when that is every p cells for some p > 1: else it says nothing of tiles.
local function groups_along(panel, n, by_col, key_of)
  local groups = {}
  for at = 1, n - 1 do
    if changes_at(panel, at, by_col, key_of) then groups[#groups + 1] = { at = at, level = 1 } end
  end
  local period = groups[1] and groups[1].at or 0
  for i, group in ipairs(groups) do
    if group.at ~= i * period then return {} end
  end
  return period > 1 and #groups == (n - 1) // period and groups or {}
end

-- Sets the groups of a panel from keys of its cells: tiles that its own modes do not show.
function M.group_by(panel, key_of)
  panel.row_groups = groups_along(panel, panel.rows, false, key_of)
  panel.col_groups = groups_along(panel, panel.cols, true, key_of)
end

-- {====== The rules by name ======

local colorings = {
  none = per_cell(function() return nil end),
  offset = per_cell(M.offset_key),
  index = per_cell(M.offset_key), -- the same, by CuTe's name
  coordinate = per_cell(function(cell) return cell.linear end),
  tile = color_by_tile,
  thread = per_cell(function(cell) return first_owner(cell, "thread") end),
  value = per_cell(function(cell) return first_owner(cell, "value") end),
  bank = per_cell(function(cell, how)
    local offset = math.type(cell.offset) == "integer" and cell.offset or 0
    return offset * how.bits // BANK_BITS % BANKS
  end),
}

local function names_of_colorings()
  local names = lists.keys(colorings)
  return table.concat(names, ", ")
end

-- What a script's function says of a cell; nil leaves it blank.
local function key_from(f, cell, how)
  local key = f(cell)
  if key ~= nil and math.type(key) ~= "integer" then
    fail(how.op, "the function of the option color returned %s for the cell %s; an integer or nil "
      .. "was expected", key, cell.crd)
  end
  return key
end

-- Which banks have which colour, of the banks that are there.
local function bank_legend(picture)
  local is_there, by_color, legend = {}, {}, {}
  M.each_cell(picture.panels, function(cell) is_there[cell.color] = true end)
  for bank = 0, BANKS - 1 do
    local texts = by_color[bank % #palette] or {}
    by_color[bank % #palette] = texts
    texts[#texts + 1] = is_there[bank] and tostring(bank) or nil
  end
  for key = 0, #palette - 1 do
    local texts = by_color[key]
    local text = (#texts > 1 and "banks " or "bank ") .. table.concat(texts, ", ")
    legend[#legend + 1] = #texts > 0 and { color = key, text = text } or nil
  end
  return legend
end

-- Colours the panels as the options say, else by `default`.
function M.colorize(picture, how, default)
  local by = how.color == nil and default or how.color
  if type(by) == "function" then
    M.each_cell(picture.panels, function(cell) cell.color = key_from(by, cell, how) end)
    picture.color_by = "key"
    return
  end
  if not colorings[by] then
    fail(how.op, "'%s' is not a colouring; %s or a function of the cell was expected", by,
      names_of_colorings())
  end
  colorings[by](picture.panels, how)
  picture.color_by = by
  if by == "bank" then
    picture.legend = bank_legend(picture)
    table.insert(picture.notes, ("%d banks of %d bits; an element has %d bits"):format(BANKS,
      BANK_BITS, how.bits))
  end
end

return M
