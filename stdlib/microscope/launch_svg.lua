-- launch_svg.lua: one block, thread and step of a launch as SVG: its tensors in global and shared
-- memory, with the block's part of them and the thread's. The page of launch_page.js shows all of
-- them; this is its still picture.
--   svg(launch[, file][, options])   options: block, thread, step, all counted from 0
local Drawing = require "cuttle.drawing"
local element_places = require "cuttle.element_places"
local launches = require "cuttle.launch_picture"
local option_names = require "cuttle.option_names"
local picture = require "cuttle.picture"
local M = {}

local SIDE <const>, LARGEST <const> = 240, 12 -- of a tensor; of a cell
local MARGIN <const>, GAP <const>, TITLE <const>, LABEL <const> = 16, 24, 14, 9
local FOLD <const> = 64 -- columns into which a long row is folded
local WIDTH <const> = 900
local fills = { all = "#F9EEC9", step = "#F0C94C", r = "#1F6FE0", w = "#D9541E", rw = "#7A3FC4" }
local ORDER <const> = { "all", "step", "r", "w", "rw" } -- the later covers the earlier

-- {====== Which cells ======

local function expanded(steps)
  local list = { steps[1] }
  for i = 2, #steps, 2 do
    for _ = 1, steps[i + 1] do list[#list + 1] = list[#list] + steps[i] end
  end
  return list
end

-- visit(site, step, thread, offset) of all that a block accesses.
function M.each_access(data, block, visit)
  local row = data.blocks[block + 1]
  for i, number in ipairs(data.programs[(row[1] or -1) + 1] or {}) do
    local shape, base = data.shapes[number + 1], row[i + 1]
    local threads, offsets = expanded(data.vecs[shape[2] + 1]), expanded(data.vecs[shape[3] + 1])
    local elems = expanded(data.vecs[shape[4] + 1])
    for r = 5, #shape, 5 do
      local step, step_by, n, add, add_by = table.unpack(shape, r, r + 4)
      for turn = 0, n - 1 do
        local at = base + add + turn * add_by
        for k, thread in ipairs(threads) do
          for _, e in ipairs(elems) do
            visit(data.sites[shape[1] + 1], step + turn * step_by, thread, at + offsets[k] + e)
          end
        end
      end
    end
  end
end

-- By tensor: row * cols + column of each cell -> what it is: "all", "step", "r", "w" or "rw".
local function marks_of(data, panels, what)
  M.each_access(data, what.block, function(site, step, thread, offset)
    local panel = panels[site[2] + 1]
    local row, col = panel.place(offset)
    local cell, marks = row * panel.axes.cols + col, panel.marks
    if step ~= what.step then
      marks[cell] = marks[cell] or "all"
    elseif thread ~= what.thread then
      if not marks[cell] or marks[cell] == "all" then marks[cell] = "step" end
    else
      local kind, old = site[3]:match "^[rw]+", marks[cell]
      marks[cell] = (old == nil or fills[old] and #old > 2) and kind or old == kind and kind or "rw"
    end
  end)
end

-- {====== Drawing ======

local function measure(panel)
  local rows, cols = panel.axes.rows, panel.axes.cols
  if rows == 1 and cols > FOLD then
    cols = math.max(FOLD, 2 ^ math.ceil(math.log(math.sqrt(4 * cols), 2)) // 1 | 0)
    rows = (panel.axes.cols + cols - 1) // cols
  end
  panel.rows, panel.cols = rows, cols
  panel.cell = math.min(LARGEST, SIDE / math.max(rows, cols))
end

-- The cells of each kind as rectangles along the rows, those below each other as one.
local function rectangles(panel)
  local by_kind = {}
  for cell, kind in pairs(panel.marks) do
    by_kind[kind] = by_kind[kind] or {}
    by_kind[kind][cell] = true
  end
  local out = {}
  for _, kind in ipairs(ORDER) do
    local open = {} -- "first last" -> the rectangle that ends in the row before
    for row = 0, panel.rows - 1 do
      local col, still = 0, {}
      while by_kind[kind] and col < panel.cols do
        local last = col
        while last < panel.cols and by_kind[kind][row * panel.cols + last] do last = last + 1 end
        if last > col then
          local key = ("%d %d"):format(col, last)
          local box = open[key]
            or { kind = kind, row = row, col = col, cols = last - col, rows = 0 }
          if box.rows == 0 then out[#out + 1] = box end
          box.rows, still[key] = box.rows + 1, box
        end
        col = math.max(last, col + 1)
      end
      open = still
    end
  end
  return out
end

local function draw_panel(page, panel, x, y)
  local w, h = panel.cols * panel.cell, panel.rows * panel.cell
  page:text(x, y + TITLE / 2, panel.name, LABEL + 2, { bold = true })
  page:text(x, y + TITLE + LABEL / 2, panel.text, LABEL, { color = Drawing.GREY })
  y = y + TITLE + LABEL + 6
  page:rect(x, y, w, h, "#FFFFFF")
  for _, box in ipairs(rectangles(panel)) do
    local least = #box.kind <= 2 and 1.5 or 0 -- one sees the thread's
    page:rect(x + box.col * panel.cell, y + box.row * panel.cell,
      math.max(box.cols * panel.cell, least), math.max(box.rows * panel.cell, least),
      fills[box.kind])
  end
  for _, line in ipairs { { 0, 0, w, 0 }, { 0, h, w, h }, { 0, 0, 0, h }, { w, 0, w, h } } do
    page:line(x + line[1], y + line[2], x + line[3], y + line[4], 0.8, Drawing.GREY)
  end
end

local function size_of(panel)
  local text = math.max(Drawing.text_width(panel.name, LABEL + 2),
    Drawing.text_width(panel.text, LABEL))
  return math.max(panel.cols * panel.cell, text), TITLE + LABEL + 6 + panel.rows * panel.cell
end

local legend = {
  { fill = fills.r, text = "read" }, { fill = fills.w, text = "written" },
  { fill = fills.rw, text = "both" }, { fill = fills.step, text = "by the block, at this step" },
  { fill = fills.all, text = "at all steps" },
}

local function layout_page(data, panels, what)
  local page = Drawing.new {}
  local title = ("%s: block %d, thread %d, step %d of %d"):format(data.title, what.block,
    what.thread, what.step, #data.steps)
  page:text(MARGIN, MARGIN + TITLE / 2, title, TITLE, { bold = true })
  local _, right = page:legend(legend, MARGIN, MARGIN + TITLE + 8, WIDTH)
  local x, y, high = MARGIN, MARGIN + TITLE + 36, 0
  right = math.max(right, MARGIN + 0.62 * TITLE * #title)
  for _, panel in ipairs(panels) do
    local w, h = size_of(panel)
    if x > MARGIN and x + w > WIDTH then x, y, high = MARGIN, y + high + GAP, 0 end
    draw_panel(page, panel, x, y)
    x, high, right = x + w + GAP, math.max(high, h), math.max(right, x + w)
  end
  page.width, page.height = right + MARGIN, y + high + MARGIN
  return page, title
end

-- {====== The picture ======

local function number_of(options, name, n, default)
  local value = options[name] or default
  if math.type(value) ~= "integer" or value < 0 or value >= n then
    picture.fail("svg", "the option %s is %s; a number from 0 to %d was expected", name, value,
      n - 1)
  end
  return value
end

local function read_options(options, data)
  option_names.check("svg", options, { "block", "step", "thread" })
  local first_turn = 0
  for i = #data.steps, 1, -1 do
    if data.steps[i] % 2 == 0 then first_turn = i - 1 end
  end
  local extents = data.block
  return { block = number_of(options, "block", #data.blocks, 0),
           thread = number_of(options, "thread", extents[1] * extents[2] * extents[3], 0),
           step = number_of(options, "step", #data.steps, first_turn) }
end

function M.page(x, options)
  local data, layouts = launches.data(x)
  local what, panels, drawn = read_options(options or {}, data), {}, {}
  for i, t in ipairs(data.tensors) do
    local tensor = { layout = layouts[i], crd_of = element_places.coordinates(layouts[i]) }
    local panel = { name = t.name, text = ("%s %s"):format(t.dtype, t.text), marks = {} }
    panel.place, panel.axes = element_places.place_of(tensor)
    measure(panel)
    panels[i] = panel
    if t.space ~= "register" then drawn[#drawn + 1] = panel end
  end
  marks_of(data, panels, what)
  return layout_page(data, drawn, what)
end

return M
