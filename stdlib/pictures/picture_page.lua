-- picture_page.lua: a picture laid out on a page, as a drawing: where each rectangle, line and text
-- goes.
local Drawing = require "cuttle.drawing"
local lists = require "cuttle.lists"
local owners = require "cuttle.owners"
local palette = require "cuttle.palette"
local M = {}

local MARGIN <const>, GAP <const> = 16, 28
local CELL <const> = 32           -- width and height of a cell whose text fits
local PAD <const> = 3             -- between a cell's text and its border
local FONT <const>, SMALLEST <const> = 12, 8 -- of cells; smaller than that, the cell grows
local CHAR <const>, LINE <const> = 0.58, 1.15 -- width of a character, height of a line, per size
local TITLE <const>, LABEL <const> = 14, 9
local MAX_COLS <const> = 64       -- a wider grid continues below
local MAX_WIDTH <const> = 4096    -- and so does one of wide cells
local PAGE_WIDTH <const> = 1400   -- panels stand side by side up to this
local LEGEND_WIDTH <const> = 300  -- of one line of the legend, or as wide as the panels
local MAX_OWNERS <const> = 4      -- that are listed in a cell
local GREY <const>, FAINT <const> = Drawing.GREY, "#8A8A8A"
local BORDER <const> = { 0.4, 1.4, 2.2 } -- widths by level: cells, tiles, tiles of tiles

local text_width = Drawing.text_width

-- {====== What a cell says ======

-- Each line of a cell; of an element with several owners each owner on a line.
local function lines_of(cell)
  if cell.mark ~= "doubled" then return cell.lines end
  return owners.texts(cell.owners, MAX_OWNERS)
end

local function longest(lines)
  local n = 1
  for _, line in ipairs(lines) do n = math.max(n, utf8.len(line) or #line) end
  return n
end

local function tip_of(cell)
  local parts = { ("coordinate %s, 1-D coordinate %d"):format(cell.crd, cell.linear) }
  if cell.mark == "outside" then parts[1] = parts[1] .. ", outside" end
  if cell.offset then parts[#parts + 1] = ("index %s"):format(cell.offset) end
  if cell.before then parts[#parts + 1] = "without swizzle " .. cell.before end
  for _, run in ipairs(owners.runs(cell.owners or {})) do
    parts[#parts + 1] = run.first == run.last
      and ("thread %d value %d"):format(run.first, run.value)
      or ("threads %d to %d value %d"):format(run.first, run.last, run.value)
  end
  return table.concat(parts, ", ")
end

-- {====== Measures of a panel ======

-- The size at which lines fit a cell.
local function fitting(width, height, n_chars, n_lines)
  return math.min(FONT, (width - 2 * PAD) / (n_chars * CHAR), (height - 2 * PAD) / (n_lines * LINE))
end

-- Sets size, cell_width and cell_height: all cells have one size of text, and it is legible.
local function measure_cells(box)
  local n_chars, n_lines = 1, 1
  for _, cell in ipairs(box.panel.cells) do
    if cell.mark ~= "doubled" then
      n_chars = math.max(n_chars, longest(cell.lines))
      n_lines = math.max(n_lines, #cell.lines)
    end
  end
  box.size = math.max(SMALLEST, fitting(CELL, CELL, n_chars, n_lines))
  box.cell_width = math.max(CELL, n_chars * CHAR * box.size + 2 * PAD)
  box.cell_height = math.max(CELL, n_lines * LINE * box.size + 2 * PAD)
end

-- Where a range of at most n columns from `first` on ends: between tiles, if one ends in its second
-- half.
local function last_of(panel, first, n)
  local last = math.min(panel.cols, first + n)
  if last == panel.cols then return last end
  for i = #panel.col_groups, 1, -1 do
    local at = panel.col_groups[i].at
    if at <= last and at > first + n // 2 then return at end
  end
  return last
end

local function column_ranges(panel, cell_width)
  local ranges, first = {}, 0
  local n = math.max(1, math.min(MAX_COLS, math.tointeger(MAX_WIDTH // cell_width)))
  repeat
    local last = last_of(panel, first, n)
    ranges[#ranges + 1] = { first = first, last = last }
    first = last
  until first >= panel.cols
  return ranges
end

local function title_of(panel, model)
  local parts = {}
  if model.kind == "operation" or model.kind == "swizzle" then
    parts = { panel.role .. ": " .. panel.layout }
  end
  parts[#parts + 1] = panel.title
  return table.concat(parts, "  ")
end

local function axis_label(axis) return axis.name and axis.name .. "  " .. axis.text or axis.text end

-- The box of a panel: its cells and what stands around them, before it has a size and a place.
local function new_box(panel, model)
  local box = { panel = panel, title = title_of(panel, model), place = panel.place,
                thread = model.thread }
  measure_cells(box)
  local has_rows = #panel.row_axis.modes > 0
  box.row_label = has_rows and axis_label(panel.row_axis) or nil
  box.col_label = (has_rows or panel.col_axis.name) and axis_label(panel.col_axis) or nil
  box.left = has_rows and LABEL + 12 + text_width(tostring(panel.rows - 1), LABEL) or 0
  box.title_height = box.title ~= "" and TITLE + 6 or 0
  box.top = LABEL + 5 + (box.col_label and LABEL + 4 or 0)
  return box
end

local ROW <const>, COL <const> = 1, 2 -- of a place
local shared_measures = { cell_height = ROW, top = ROW, cell_width = COL, left = COL }

-- Panels in one row of a table of panels have rows of one height, those in one column columns of
-- one width, so that their cells stand in line.
local function align(boxes)
  for field, axis in pairs(shared_measures) do
    local most = {}
    for _, box in ipairs(boxes) do
      local at = box.place and box.place[axis]
      if at then most[at] = math.max(most[at] or 0, box[field]) end
    end
    for _, box in ipairs(boxes) do
      if box.place then box[field] = most[box.place[axis]] end
    end
  end
end

local function set_size(box)
  local panel = box.panel
  box.ranges = column_ranges(panel, box.cell_width)
  local cols = box.ranges[1].last - box.ranges[1].first
  box.range_height = box.top + panel.rows * box.cell_height + 10
  box.width = math.max(box.left + cols * box.cell_width, text_width(box.title, LABEL + 2),
    panel.note and text_width(panel.note, LABEL) or 0)
  box.height = box.title_height + #box.ranges * box.range_height + (panel.note and LABEL + 4 or 0)
end

-- {====== Drawing: each function adds items to the page ======

local function add_lines(page, x, y, lines, size, color, bold)
  for i, line in ipairs(lines) do
    page:text(x, y + (i - (#lines + 1) / 2) * LINE * size, line, size,
      { anchor = "middle", color = color, bold = bold })
  end
end

local function color_of(cell, box)
  local color = cell.mark == "doubled" and palette.warning or palette.of(cell.color)
  return box.thread and not cell.mine and palette.faded(color) or color
end

-- Lines from the left side up to the diagonal, and those after it.
local hatches = { unowned = { 1, BORDER[1], FAINT }, outside = { 3, 0.7, GREY } }

local function draw_hatch(page, hatch, x, y, w, h)
  local n, width, color = table.unpack(hatch)
  for i = 1, n do
    local part = i / n
    page:line(x, y + h * part, x + w * part, y, width, color)
    if i < n then page:line(x + w * part, y + h, x + w, y + h * part, width, color) end
  end
end

local function draw_cell(page, box, cell, x, y)
  local doubled, color = cell.mark == "doubled", color_of(cell, box)
  local w, h, lines = box.cell_width, box.cell_height, lines_of(cell)
  page:rect(x, y, w, h, color.fill, tip_of(cell))
  if hatches[cell.mark] then draw_hatch(page, hatches[cell.mark], x, y, w, h) end
  local size = doubled and math.min(box.size, fitting(w, h, longest(lines), #lines)) or box.size
  add_lines(page, x + w / 2, y + h / 2, lines, size, color.ink or palette.ink, cell.mine)
end

local function level_at(groups)
  local levels = {}
  for _, group in ipairs(groups) do levels[group.at] = math.min(group.level, 2) end
  return levels
end

-- The lines between cells and around the grid; thicker where tiles begin, the thick ones on top.
local function draw_borders(page, box, range, x, y)
  local panel, w, h = box.panel, box.cell_width, box.cell_height
  local right, bottom = x + (range.last - range.first) * w, y + panel.rows * h
  local row_levels, col_levels = level_at(panel.row_groups), level_at(panel.col_groups)
  for level = 0, 2 do
    local width = BORDER[level + 1]
    for row = 0, panel.rows do
      local edge = row == 0 or row == panel.rows
      if (edge and 1 or row_levels[row] or 0) == level then
        page:line(x, y + row * h, right, y + row * h, width, palette.ink)
      end
    end
    for col = range.first, range.last do
      local edge = col == 0 or col == panel.cols
      local at = x + (col - range.first) * w
      if (edge and 1 or col_levels[col] or 0) == level then
        page:line(at, y, at, bottom, width, palette.ink)
      end
    end
  end
end

local function draw_headers(page, box, range, x, y)
  local panel, w, h = box.panel, box.cell_width, box.cell_height
  local middle = { color = GREY, anchor = "middle" }
  for col = range.first, range.last - 1 do
    page:text(x + (col - range.first + 0.5) * w, y - LABEL / 2 - 3, tostring(col), LABEL, middle)
  end
  for row = 0, box.row_label and panel.rows - 1 or -1 do
    page:text(x - 4, y + (row + 0.5) * h, tostring(row), LABEL, { color = GREY, anchor = "end" })
  end
  if box.col_label then
    page:text(x + (range.last - range.first) * w / 2, y - 1.5 * LABEL - 7, box.col_label, LABEL,
      middle)
  end
  if box.row_label then
    page:text(x - box.left + LABEL / 2, y + panel.rows * h / 2, box.row_label, LABEL,
      { color = GREY, anchor = "middle", turned = true })
  end
end

local function draw_range(page, box, range, x, y)
  local panel = box.panel
  for row = 0, panel.rows - 1 do
    for col = range.first, range.last - 1 do
      draw_cell(page, box, panel.cells[row * panel.cols + col + 1],
        x + (col - range.first) * box.cell_width, y + row * box.cell_height)
    end
  end
  draw_borders(page, box, range, x, y)
  draw_headers(page, box, range, x, y)
end

local function draw_panel(page, box, x, y)
  if box.title ~= "" then
    page:text(x, y + TITLE / 2, box.title, LABEL + 2, { bold = true })
  end
  y = y + box.title_height
  for _, range in ipairs(box.ranges) do
    draw_range(page, box, range, x + box.left, y + box.top)
    y = y + box.range_height
  end
  if box.panel.note then
    page:text(x, y, box.panel.note, LABEL, { color = GREY })
  end
end

-- {====== The page ======

-- Whether the boxes form a table: each has a place there, and none continues below.
local function is_table(boxes)
  for _, box in ipairs(boxes) do
    if not box.place or #box.ranges > 1 then return false end
  end
  return #boxes > 0
end

-- Where the rows (or columns) of a table of boxes begin; the last one is where it ends.
local function starts_of(boxes, axis, field, start)
  local sizes, starts = {}, { start }
  for _, box in ipairs(boxes) do
    local at = box.place[axis]
    sizes[at] = math.max(sizes[at] or 0, box[field])
  end
  for i, size in ipairs(sizes) do starts[i + 1] = starts[i] + size + GAP end
  return starts
end

local function place_in_table(boxes, left, top)
  local xs, ys = starts_of(boxes, COL, "width", left), starts_of(boxes, ROW, "height", top)
  for _, box in ipairs(boxes) do box.x, box.y = xs[box.place[COL]], ys[box.place[ROW]] end
  return xs[#xs] - GAP, ys[#ys] - GAP
end

-- Gives each box a place: rows from left to right. Returns the width and height that they take.
local function place(boxes, left, top)
  if is_table(boxes) then return place_in_table(boxes, left, top) end
  local x, y, row_height, right = left, top, 0, left
  for _, box in ipairs(boxes) do
    if x > left and x + box.width > PAGE_WIDTH then
      x, y, row_height = left, y + row_height + GAP, 0
    end
    box.x, box.y = x, y
    x, row_height = x + box.width + GAP, math.max(row_height, box.height)
    right = math.max(right, x - GAP)
  end
  return right, y + row_height
end

local function draw_legend(page, legend, left, y)
  local entries = lists.map(legend, function(entry)
    return { fill = palette.of(entry.color).fill, text = entry.text }
  end)
  local bottom, right = page:legend(entries, left, y, math.max(page.right, LEGEND_WIDTH))
  page.right = math.max(page.right, right)
  return bottom
end

local function draw_foot(page, model, y)
  if model.legend then y = draw_legend(page, model.legend, MARGIN, y + 4) end
  for _, note in ipairs(model.notes) do
    page:text(MARGIN, y + LABEL, note, LABEL + 1, { color = GREY })
    page.right = math.max(page.right, MARGIN + text_width(note, LABEL + 1))
    y = y + LABEL + 8
  end
  return y
end

-- The page of a picture (picture.lua's model).
function M.of(model)
  local page, boxes = Drawing.new {}, {}
  page:text(MARGIN, MARGIN + TITLE / 2, model.title, TITLE, { bold = true })
  for i, panel in ipairs(model.panels) do boxes[i] = new_box(panel, model) end
  align(boxes)
  for _, box in ipairs(boxes) do set_size(box) end
  local right, bottom = place(boxes, MARGIN, MARGIN + TITLE + 12)
  page.right = math.max(right, MARGIN + 1.08 * text_width(model.title, TITLE))
  for _, box in ipairs(boxes) do draw_panel(page, box, box.x, box.y) end
  page.height = draw_foot(page, model, bottom) + MARGIN
  page.width = page.right + MARGIN
  return page
end

-- {====== Files ======

-- Takes apart the arguments (file, options) of svg and latex; the file may be left out.
function M.arguments(file, options)
  if type(file) == "table" or math.type(file) == "integer" then return nil, file end
  return file, options
end

-- What writes files with such names.
local writer_of = { svg = "svg", tex = "latex", html = "html", htm = "html" }
local written_by = { svg = "an SVG picture", latex = "LaTeX", html = "a page", view = "a page" }

-- A file whose name promises another kind of picture is refused.
local function check_kind(file, op, fail)
  local writer = writer_of[(file:match("%.(%w+)$") or ""):lower()]
  local own = op == "view" and "html" or op
  if writer and written_by[op] and writer ~= own then
    fail(op, "'%s' would contain %s, which does not match its name; write %s(x, \"%s\"), or name "
      .. "it .%s",
      file, written_by[op], writer, file, own == "latex" and "tex" or own)
  end
end

-- Writes the text to the file and returns its name; without a file returns the text.
function M.deliver(text, file, op, fail)
  if file == nil then return text end
  if type(file) ~= "string" then
    fail(op, "the file is a %s; a name was expected", type(file))
  elseif not io then
    fail(op, "a sandboxed script writes no files; without a file name, %s returns the source", op)
  end
  check_kind(file, op, fail)
  local ok, why = write_file(file, text)
  if not ok then fail(op, "%s", why) end
  return file
end

return M
