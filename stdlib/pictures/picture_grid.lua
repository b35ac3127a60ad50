-- picture_grid.lua: a layout as a grid of cells. Modes are laid along the rows, along the columns,
-- or outside of the grid, one panel for each of their coordinates. A cell knows its coordinate, the
-- 1-D coordinate in the whole layout (`linear`), and the index that the layout gives (`offset`).
local M = {}

-- {====== Modes and axes ======

local function flat_leaves(t, out)
  if type(t) == "table" then
    for i = 1, #t do flat_leaves(t[i], out) end
  else
    out[#out + 1] = t
  end
  return out
end

-- The integers of a tuple from left to right.
function M.leaves(tuple) return flat_leaves(tuple, {}) end

-- The names of the modes of a layout by number, from 0; empty when they have none.
local function names_of(layout)
  local out, names = {}, layout.names and layout:names() or {}
  for k, name in pairs(names) do out[k - 1] = name or nil end
  return out
end

-- The modes of a layout from number 0 on: {size, shape, text, name, step}. One step in the mode is
-- `step` in the 1-D coordinate.
function M.modes(layout)
  local plain, names, modes, step = layout.layout or layout, names_of(layout), {}, 1
  for k = 0, rank(plain) - 1 do
    local mode = get_mode(plain, k)
    local size = size(mode)
    local text = tostring(mode):gsub("^[%a_][%w_]*=", "") -- a named mode prints its name
    modes[k] = { size = size, shape = shape(mode), text = text, name = names[k], step = step }
    step = step * size
  end
  return modes
end

local function joined(list, separator, brackets)
  local text = table.concat(list, separator)
  return #list == 1 and text or brackets:format(text)
end

-- The modes `picks` (numbers, the fastest first) along one axis:
-- {modes, size, text, name or nil, leaves, step_at(i) -> what position i adds to the 1-D
-- coordinate}.
function M.axis(modes, picks)
  local axis = { modes = picks, size = 1, leaves = {} }
  local texts, names = {}, {}
  for _, k in ipairs(picks) do
    axis.size = axis.size * modes[k].size
    texts[#texts + 1], names[#names + 1] = modes[k].text, modes[k].name
    flat_leaves(modes[k].shape, axis.leaves)
  end
  axis.text = joined(texts, ", ", "(%s)")
  axis.name = #names == #picks and #names > 0 and table.concat(names, ",") or nil
  function axis.step_at(i)
    local sum = 0
    for _, k in ipairs(picks) do
      sum = sum + i % modes[k].size * modes[k].step
      i = i // modes[k].size
    end
    return sum
  end
  return axis
end

-- Where tiles begin on an axis of which n positions are drawn: {at, level} from left to right; the
-- level counts the nested modes that begin anew at this position.
function M.groups(axis, n)
  local periods, period, groups = {}, 1, {}
  for _, leaf in ipairs(axis.leaves) do
    if period > 1 and leaf > 1 then periods[#periods + 1] = period end
    period = period * leaf
  end
  for at = 1, #periods > 0 and n - 1 or 0 do
    local level = 0
    for _, p in ipairs(periods) do level = level + (at % p == 0 and 1 or 0) end
    if level > 0 then groups[#groups + 1] = { at = at, level = level } end
  end
  return groups
end

-- {====== Offsets ======

-- A number, or a multiple of a basis element, "3@1@0"; not a run-time value.
local function is_static(leaf)
  return math.type(leaf) == "integer" or tostring(leaf):find("^%-?%d+@") ~= nil
end

-- Whether nothing of the layout is known only at run time.
function M.is_static(layout)
  for _, tuple in ipairs { shape(layout), stride(layout.layout or layout) } do
    for _, leaf in ipairs(M.leaves(tuple)) do
      if not is_static(leaf) then return false end
    end
  end
  return true
end

-- A function from 1-D coordinates to indices: integers, or texts of coordinates where strides are
-- basis elements.
function M.offset_at(layout)
  return function(linear)
    local offset = layout(linear)
    return math.type(offset) and offset or tostring(offset)
  end
end

-- {====== Panels ======

-- How many rows and columns of a panel are drawn: a square where both are too many.
local function kept(rows, cols, max_cells)
  local side = math.max(1, math.tointeger(math.sqrt(max_cells) // 1))
  local n_cols = math.min(cols, math.max(side, max_cells // math.max(rows, 1)))
  return math.min(rows, max_cells // math.max(n_cols, 1)), n_cols
end

local function add_cells(panel, grid, base)
  local row_axis, col_axis, shape = panel.row_axis, panel.col_axis, shape(grid.layout)
  local col_steps = {}
  for col = 0, panel.cols - 1 do col_steps[col] = col_axis.step_at(col) end
  for row = 0, panel.rows - 1 do
    local start = base + row_axis.step_at(row)
    for col = 0, panel.cols - 1 do
      local linear = start + col_steps[col]
      local offset = grid.offset_at(linear)
      panel.cells[#panel.cells + 1] = {
        row = row, col = col, linear = linear, crd = tostring(idx2crd(linear, shape)),
        offset = offset, lines = { tostring(offset) },
      }
    end
  end
end

local function note_of_rest(panel)
  if panel.rows < panel.row_axis.size or panel.cols < panel.col_axis.size then
    local rows, cols = panel.row_axis.size, panel.col_axis.size
    return ("%d x %d of %d x %d cells are drawn; max_cells = %d draws all"):format(
      panel.rows, panel.cols, rows, cols, rows * cols)
  end
end

local function new_panel(grid, base)
  local rows, cols = kept(grid.rows.size, grid.cols.size, grid.max_cells)
  local panel = {
    layout = tostring(grid.layout), rows = rows, cols = cols,
    row_axis = grid.rows, col_axis = grid.cols,
    row_groups = M.groups(grid.rows, rows), col_groups = M.groups(grid.cols, cols), cells = {},
  }
  panel.note = note_of_rest(panel)
  add_cells(panel, grid, base)
  return panel
end

-- The coordinate of the slice that a panel draws: "(_,_,3)", of named modes "K=3".
local function slice_text(modes, outer, at)
  local parts, named, digit = {}, {}, {}
  for _, k in ipairs(outer.modes) do
    digit[k] = tostring(idx2crd(at % modes[k].size, modes[k].shape))
    named[#named + 1] = modes[k].name and ("%s=%s"):format(modes[k].name, digit[k])
    at = at // modes[k].size
  end
  for k = 0, #modes do parts[#parts + 1] = digit[k] or "_" end
  return outer.name and table.concat(named, ", ") or "(" .. table.concat(parts, ",") .. ")"
end

-- The grids of a layout, one for each coordinate of the modes outside: a list of
--   {layout (text), title (which slice) or nil, rows, cols (how many are drawn), row_axis,
--    col_axis, row_groups, col_groups (where tiles begin), cells (by rows), note or nil}
-- and how many more there are. `how`: {rows, cols: lists of mode numbers; max_cells; max_panels}.
function M.panels(layout, how)
  local modes, inside, outside, panels = M.modes(layout), {}, {}, {}
  for _, list in ipairs { how.rows, how.cols } do
    for _, k in ipairs(list) do inside[k] = true end
  end
  for k = 0, rank(layout) - 1 do
    if not inside[k] then outside[#outside + 1] = k end
  end
  local outer = M.axis(modes, outside)
  local grid = { layout = layout, rows = M.axis(modes, how.rows), cols = M.axis(modes, how.cols),
                 offset_at = M.offset_at(layout), max_cells = how.max_cells }
  for at = 0, math.min(outer.size, how.max_panels) - 1 do
    local panel = new_panel(grid, outer.step_at(at))
    panel.title = #outside > 0 and slice_text(modes, outer, at) or nil
    panels[#panels + 1] = panel
  end
  return panels, outer.size - #panels
end

return M
