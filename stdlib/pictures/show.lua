-- show.lua: pictures as text in a grid, for the terminal.
--   show(x[, options])   prints the picture of x (picture.lua says what x can be)
-- Options besides those of all pictures: text (true: return the text and print nothing), width (in
-- characters; else the terminal's), utf8 and ansi (true or false: box drawing and colours; else as
-- the terminal is; a text has neither unless told).
local lists = require "cuttle.lists"
local option_names = require "cuttle.option_names"
local owners = require "cuttle.owners"
local picture = require "cuttle.picture"
local palette = require "cuttle.palette"
local M = {}

local MAX_CELLS <const> = 1024
local MAX_OWNERS <const> = 3 -- that a cell lists
local PAGE <const> = 100 -- characters in which panels are put side by side when no width is known
local GAP <const> = "   "

-- {====== Style: what the output can show ======

local ascii_lines = {
  h = "-", v = "|", top = { "+", "+", "+" }, middle = { "+", "+", "+" }, bottom = { "+", "+", "+" },
  none = ".", hatch = "/",
}
local box_lines = {
  h = "\u{2500}", v = "\u{2502}", top = { "\u{250C}", "\u{252C}", "\u{2510}" },
  middle = { "\u{251C}", "\u{253C}", "\u{2524}" }, bottom = { "\u{2514}", "\u{2534}", "\u{2518}" },
  none = "\u{00B7}", hatch = "\u{2571}",
}

local function first_given(...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if value ~= nil then return value end
  end
end

local function style_of(options)
  local terminal = terminal()
  if options.text then terminal = { utf8 = false, color = false } end
  local utf8_wanted = first_given(options.utf8, terminal.utf8)
  return { lines = utf8_wanted and box_lines or ascii_lines,
           ansi = first_given(options.ansi, terminal.color),
           width = options.width or terminal.columns }
end

local function width_of(text) return utf8.len(text) or #text end

local function pad_left(text, n, fill) return (fill or " "):rep(n - width_of(text)) .. text end

local function painted(text, color, style)
  if not style.ansi or not color.ansi then return text end
  return ("\27[48;5;%d;38;5;%dm%s\27[0m"):format(color.ansi, color.ink and 231 or 16, text)
end

local function bold(text, style) return style.ansi and "\27[1m" .. text .. "\27[0m" or text end

-- {====== Cells ======

-- The text of a cell: an offset or value as it is, owners as T0V1,T8V0; +5 for five more. What the
-- marked thread owns stands in brackets.
local function text_of(cell, style)
  if not cell.owners then return table.concat(cell.lines, " ") end
  local texts = owners.texts(cell.owners, MAX_OWNERS)
  local text = #texts > 0 and table.concat(texts, ",") or style.lines.none
  return cell.mine and "[" .. text .. "]" or text
end

local function color_of(cell)
  return cell.mark == "doubled" and palette.warning or palette.of(cell.color)
end

local function set_of(groups)
  local at = {}
  for _, group in ipairs(groups) do at[group.at] = true end
  return at
end

-- What drawing a panel needs to know: the widths of its cells and of its row headers.
local function measure(panel, style)
  local sheet = { panel = panel, style = style, texts = {},
                  cell_width = #tostring(math.max(panel.cols - 1, 0)),
                  row_starts = set_of(panel.row_groups), col_starts = set_of(panel.col_groups) }
  for i, cell in ipairs(panel.cells) do
    sheet.texts[i] = text_of(cell, style)
    sheet.cell_width = math.max(sheet.cell_width, width_of(sheet.texts[i]))
  end
  local corner = { panel.row_axis.name, panel.col_axis.name }
  sheet.corner = corner[1] and corner[2] and corner[1] .. "\\" .. corner[2] or corner[2] or ""
  sheet.head_width = math.max(#tostring(math.max(panel.rows - 1, 0)), width_of(sheet.corner))
  if #panel.row_axis.modes == 0 then sheet.head_width = width_of(sheet.corner) end
  return sheet
end

-- {====== The lines of a grid, columns first to last - 1 ======

-- A cell with its margins, hatched where it lies outside.
local function cell_text(sheet, i)
  local is_outside = sheet.panel.cells[i].mark == "outside"
  local fill = is_outside and sheet.style.lines.hatch or " "
  return pad_left(sheet.texts[i], sheet.cell_width + 1, fill) .. fill
end

local function separator(sheet, col, first)
  return col > first and sheet.col_starts[col] and sheet.style.lines.v or ""
end

local function header_line(sheet, first, last)
  local parts = { pad_left(sheet.corner, sheet.head_width), "  " }
  for col = first, last - 1 do
    parts[#parts + 1] = separator(sheet, col, first) ~= "" and " " or ""
    parts[#parts + 1] = pad_left(tostring(col), sheet.cell_width + 1) .. " "
  end
  return table.concat(parts):gsub("%s+$", "")
end

-- A horizontal line; `joints` are its left, middle and right characters.
local function rule(sheet, joints, first, last)
  local parts = { (" "):rep(sheet.head_width + 1), joints[1] }
  for col = first, last - 1 do
    parts[#parts + 1] = separator(sheet, col, first) ~= "" and joints[2] or ""
    parts[#parts + 1] = sheet.style.lines.h:rep(sheet.cell_width + 2)
  end
  return table.concat(parts) .. joints[3]
end

local function row_line(sheet, row, first, last)
  local panel, v = sheet.panel, sheet.style.lines.v
  local head = #panel.row_axis.modes > 0 and tostring(row) or ""
  local parts = { pad_left(head, sheet.head_width), " ", v }
  for col = first, last - 1 do
    local i = row * panel.cols + col + 1
    parts[#parts + 1] = separator(sheet, col, first)
    parts[#parts + 1] = painted(cell_text(sheet, i), color_of(panel.cells[i]), sheet.style)
  end
  return table.concat(parts) .. v
end

local function grid_lines(sheet, first, last)
  local lines, joints = { (header_line(sheet, first, last)) }, sheet.style.lines
  lines[2] = rule(sheet, joints.top, first, last)
  for row = 0, sheet.panel.rows - 1 do
    if row > 0 and sheet.row_starts[row] then
      lines[#lines + 1] = rule(sheet, joints.middle, first, last)
    end
    lines[#lines + 1] = row_line(sheet, row, first, last)
  end
  lines[#lines + 1] = rule(sheet, joints.bottom, first, last)
  return lines
end

local function grid_width(sheet, first, last)
  local n = sheet.head_width + 3 + (last - first) * (sheet.cell_width + 2)
  for col = first + 1, last - 1 do n = n + (sheet.col_starts[col] and 1 or 0) end
  return n
end

-- Where the columns from `first` on must end to fit: at the last tile's end if one is near.
local function last_that_fits(sheet, first, width)
  local last = first + 1
  while last < sheet.panel.cols and grid_width(sheet, first, last + 1) <= width do
    last = last + 1
  end
  if last == sheet.panel.cols then return last end
  for at = last, first + (last - first) // 2 + 1, -1 do
    if sheet.col_starts[at] then return at end
  end
  return last
end

-- {====== Blocks: {lines, width} ======

local function title_of(panel, model)
  local parts = {}
  if model.kind == "operation" or model.kind == "swizzle" then
    parts = { panel.role, panel.layout }
  end
  parts[#parts + 1] = panel.title
  return table.concat(parts, " ")
end

local function plain_width(line) return width_of((line:gsub("\27%[[%d;]*m", ""))) end

local function block_of(lines)
  local block = { lines = lines, width = 0 }
  for _, line in ipairs(lines) do block.width = math.max(block.width, plain_width(line)) end
  return block
end

-- A panel: its grid, or several column ranges one below the other when it is too wide.
local function panel_block(sheet, model)
  local panel, style = sheet.panel, sheet.style
  local first, title = 0, title_of(panel, model)
  local lines = { title ~= "" and bold(title, style) or nil }
  while first < panel.cols and panel.rows > 0 do
    local last = style.width and last_that_fits(sheet, first, style.width) or panel.cols
    if first > 0 then lines[#lines + 1] = "" end
    local part = grid_lines(sheet, first, last)
    table.move(part, 1, #part, #lines + 1, lines)
    first = last
  end
  lines[#lines + 1] = panel.note and ("(%s)"):format(panel.note)
  return block_of(lines)
end

-- Puts blocks side by side: their lines in one list.
local function beside(blocks)
  local lines, n = {}, 0
  for _, block in ipairs(blocks) do n = math.max(n, #block.lines) end
  for i = 1, n do
    local parts = {}
    for k, block in ipairs(blocks) do
      local line = block.lines[i] or ""
      local fill = k < #blocks and (" "):rep(block.width - plain_width(line)) or ""
      parts[k] = line .. fill
    end
    lines[i] = table.concat(parts, GAP):gsub("%s+$", "")
  end
  return lines
end

-- As many blocks beside each other as the width holds.
local function arrange(blocks, width)
  local rows, row, used = {}, {}, 0
  for _, block in ipairs(blocks) do
    if #row > 0 and used + #GAP + block.width > width then
      rows[#rows + 1] = beside(row)
      row, used = {}, 0
    end
    row[#row + 1] = block
    used = used + block.width + (#row > 1 and #GAP or 0)
  end
  rows[#rows + 1] = #row > 0 and beside(row) or nil
  return rows
end

-- {====== Panels in a table: A left of C, B above it ======

-- Sheets of one column of the table get columns of one width, so that their cells stand in line.
local function align(sheets)
  for _, field in ipairs { "cell_width", "head_width" } do
    local most = {}
    for _, sheet in ipairs(sheets) do
      local col = sheet.panel.place[2]
      most[col] = math.max(most[col] or 0, sheet[field])
    end
    for _, sheet in ipairs(sheets) do sheet[field] = most[sheet.panel.place[2]] end
  end
end

local function sheets_of_table(panels, style)
  local sheets = {}
  for i, panel in ipairs(panels) do
    if not panel.place then return nil end
    sheets[i] = measure(panel, style)
  end
  return #sheets > 0 and sheets or nil
end

-- The blocks as rows of cells of a table; where there is no panel, an empty block.
local function rows_of(sheets, blocks, widths)
  local rows = {}
  for i, sheet in ipairs(sheets) do
    local row, col = sheet.panel.place[1], sheet.panel.place[2]
    rows[row] = rows[row] or {}
    for before = 1, col - 1 do
      rows[row][before] = rows[row][before] or { lines = {}, width = widths[before] }
    end
    rows[row][col] = { lines = blocks[i].lines, width = widths[col] }
  end
  return rows
end

-- The rows of the table, each a list of lines; nil where the panels form none, or one too wide.
local function table_rows(model, style)
  local sheets, blocks, widths = sheets_of_table(model.panels, style), {}, {}
  if not sheets then return nil end
  align(sheets)
  for i, sheet in ipairs(sheets) do
    local col = sheet.panel.place[2]
    blocks[i] = panel_block(sheet, model)
    widths[col] = math.max(widths[col] or 0, blocks[i].width)
  end
  local total = (#widths - 1) * #GAP
  for _, width in ipairs(widths) do total = total + width end
  if total > (style.width or PAGE) then return nil end
  local rows = rows_of(sheets, blocks, widths)
  for i, row in ipairs(rows) do rows[i] = beside(row) end
  return rows
end

-- {====== The picture ======

local own_options <const> = { text = option_names.flag, width = option_names.whole(1),
                              utf8 = option_names.flag, ansi = option_names.flag }

-- The options of the model, which refuses what is no table. Less is drawn than on paper.
local function model_options(options)
  if options ~= nil and type(options) ~= "table" then return options end
  local copy = { max_cells = MAX_CELLS }
  for name, value in pairs(options or {}) do copy[name] = value end
  return copy
end

local function flowing_rows(model, style)
  local blocks = lists.map(model.panels, function(panel)
    return panel_block(measure(panel, style), model)
  end)
  return arrange(blocks, style.width or PAGE)
end

-- What colours mean where no cell says it.
local function legend_line(model, style)
  local parts = {}
  for i, entry in ipairs(model.color_by == "bank" and style.ansi and model.legend or {}) do
    parts[i] = painted(" " .. entry.text .. " ", palette.of(entry.color), style)
  end
  return #parts > 0 and table.concat(parts, " ") or nil
end

local function draw(model, style)
  local out = { bold(model.title, style) }
  for i, lines in ipairs(table_rows(model, style) or flowing_rows(model, style)) do
    if i > 1 then out[#out + 1] = "" end
    table.move(lines, 1, #lines, #out + 1, out)
  end
  out[#out + 1] = legend_line(model, style)
  for _, note in ipairs(model.notes) do out[#out + 1] = "(" .. note .. ")" end
  return table.concat(out, "\n")
end

-- show(x[, options]): prints the picture; with the option `text` it returns it.
function M.show(x, options)
  options = picture.options(options, x)
  local model = picture.of(x, model_options(options), "show", own_options)
  options = options or {}
  local text = draw(model, style_of(options))
  if options.text then return text end
  print(text)
end

return M
