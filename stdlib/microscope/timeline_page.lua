-- timeline_page.lua: a timeline as a drawing: rows of bars over an axis of cycles.
local lists = require "cuttle.lists"
local deliver = require "cuttle.picture_page".deliver
local Drawing = require "cuttle.drawing"
local option_names = require "cuttle.option_names"
local pages = require "cuttle.page_file"
local sources = require "cuttle.source_lines"
local svg = require "cuttle.svg"
local M = {}

local MARGIN <const>, LABEL <const> = 16, 150
local ROW <const>, GAP <const>, THIN <const> = 32, 6, 18
local FONT <const>, SMALL <const>, TITLE <const> = 14, 12, 18
local WIDTH <const> = 1000 -- of the axis
local text_width = Drawing.text_width

-- Fills that carry black text.
local fills = {
  work = "#77AADD", barrier = "#EEEEEE", wgmma = "#FFD9B8", tma_store = "#E5D5EE",
  load = "#BBCC33", store = "#AA88BB",
}
local consumers = { "#EE8866", "#44BB99", "#EEDD88", "#FFAABB" }

local fail = require "cuttle.fail".fail

-- {====== Rows ======

local function kind_of(bar)
  if bar.kind ~= "wait" then return bar.kind end
  return fills[bar.what] and bar.what or "barrier"
end

local function lines_text(bar)
  if bar.first == 0 then return "to the end" end
  return bar.first == bar.last and "line " .. bar.first
    or ("lines %d-%d"):format(bar.first, bar.last)
end

local Page = setmetatable({}, Drawing)
Page.__index = Page

function Page:tip_of(bar, what)
  local tip = ("%s, %s, %s %.0f to %.0f%s"):format(what, lines_text(bar), self.unit, bar.from,
    bar.to, bar.bytes and (", %d bytes"):format(bar.bytes) or "")
  for _, line in ipairs(bar.first == bar.last and { bar.first } or { bar.first, bar.last }) do
    local text = bar.chunk and self.source_of(bar.chunk, line)
    if text then tip = ("%s\n%d: %s"):format(tip, line, text:match "^%s*(.-)%s*$") end
  end
  return tip
end

function Page:x_of(cycle)
  local at = (cycle - self.from) / (self.to - self.from)
  return MARGIN + LABEL + math.max(0, math.min(1, at)) * self.axis
end

-- `short` stands where there is no room for `label`.
function Page:bar(bar, y, height, fill, what, label, short)
  local x1, x2 = self:x_of(bar.from), self:x_of(bar.to)
  if bar.to <= self.from or bar.from >= self.to then return end
  self:rect(x1, y, math.max(x2 - x1, 0.4), height, fill, self:tip_of(bar, what),
    what .. lines_text(bar))
  if x2 - x1 > 3 then self:line(x1, y, x1, y + height, 0.6, "#FFFFFF") end
  local function fits(text) return text and text_width(text, SMALL) + 4 <= x2 - x1 end
  local text = fits(label) and label or fits(short) and short
  if text then self:text((x1 + x2) / 2, y + height / 2, text, SMALL, { anchor = "middle" }) end
end

function Page:label(name, more, height)
  local y = self.y + height / 2
  self:text(MARGIN, more and y - 6 or y, name, FONT, { bold = true })
  if more then self:text(MARGIN, y + 9, more, SMALL, { color = Drawing.GREY }) end
end

-- A thin line where a warp came to a mark.
function Page:marks(row)
  for _, mark in ipairs(row.marks) do
    local x = self:x_of(mark.at)
    if mark.at >= self.from and mark.at <= self.to then
      self:rect(x, self.y, 1.2, ROW, "#000000",
        ("%s, cycle %.0f"):format(mark.name or "line " .. mark.line, mark.at),
        mark.name or "line " .. mark.line)
    end
  end
end

function Page:row(row)
  local is_whole = row.warps == row.name
  self:label(row.rank or row.name, row.rest or not is_whole and row.warps or nil, ROW)
  for _, bar in ipairs(row.bars) do
    local kind = kind_of(bar)
    local what = kind == "work" and "works" or "waits for " .. bar.what
    self:bar(bar, self.y, ROW, fills[kind], what, kind ~= "work" and bar.what or nil)
  end
  self:marks(row)
  self.y = self.y + ROW + GAP
end

local function color_of(rows, row)
  local n = 0
  for _, r in ipairs(rows) do
    if r.kinds.mma then n = n + 1 end
    if r == row then break end
  end
  return consumers[(math.max(n, 1) - 1) % #consumers + 1]
end

function Page:products(t)
  if #t.products == 0 then return end
  self:label("tensor core", ("busy %.0f %%"):format(100 * t.busy), ROW)
  for _, bar in ipairs(t.products) do
    self:bar(bar, self.y, ROW, color_of(t.rows, bar.row), "wgmma of " .. bar.what, bar.what,
      bar.what:match("%d+$"))
  end
  self.y = self.y + ROW + GAP
end

function Page:copies(name, rows, fill)
  for i, row in ipairs(rows) do
    if i == 1 then self:label(name, nil, THIN) end
    for _, bar in ipairs(row) do
      self:bar(bar, self.y, THIN, fill, name:sub(1, -2) .. " " .. bar.what, bar.what,
        bar.what:match("(%d+)%]$"))
    end
    self.y = self.y + THIN + 2
  end
  if #rows > 0 then self.y = self.y + GAP end
end

-- {====== The page ======

-- 1, 2 or 5 times a power of ten, about a tenth of the whole.
local function step_of(length)
  local unit = 10 ^ math.floor(math.log(length / 10, 10))
  for _, f in ipairs { 1, 2, 5 } do
    if length / (f * unit) <= 12 then return f * unit end
  end
  return 10 * unit
end

function Page:ticks(t, top)
  local step = step_of(self.to - self.from)
  for cycle = math.ceil(self.from / step) * step, self.to, step do
    local x = self:x_of(cycle)
    table.insert(self.items, 1, { "line", x, top, x, self.y, color = "#CCCCCC", width = 0.5 })
    self:text(x, self.y + 8, ("%.0f"):format(cycle), SMALL, { anchor = "middle" })
  end
  local of = t.measured and "model, GPU" or "model"
  self:text(MARGIN, self.y + 8, t.unit or "cycles (" .. of .. ")", SMALL)
  self.y = self.y + 24
end

function Page:legend(t)
  local x = MARGIN
  local function entry(fill, text)
    local width = 14 + text_width(text, SMALL) + 16
    if x > MARGIN and x + width > MARGIN + LABEL + self.axis then
      x, self.y = MARGIN, self.y + SMALL + 6
    end
    self:rect(x, self.y - 5, 10, 10, fill)
    self:text(x + 14, self.y, text, SMALL)
    x = x + width
  end
  entry(fills.work, "works")
  entry(fills.barrier, "waits at a barrier")
  entry(fills.wgmma, "waits for wgmma")
  if #t.stores > 0 then entry(fills.tma_store, "waits for tma_store") end
  for _, row in ipairs(t.rows) do
    if row.kinds.mma then entry(color_of(t.rows, row), "wgmma of " .. row.name) end
  end
  if #t.copies > 0 then entry(fills.load, "tma_load in flight") end
  if #t.stores > 0 then entry(fills.store, "tma_store in flight") end
  self.y = self.y + SMALL + 10
end

-- A text in lines of the page's width; those after the first are indented.
function Page:wrapped(text)
  local most = (LABEL + self.axis) // text_width("n", SMALL)
  local function fits(line) return #line <= most end
  for _, line in ipairs(lists.wrap(text, fits, nil, "\u{2003}\u{2003}")) do
    self:text(MARGIN, self.y, line, SMALL)
    self.y = self.y + SMALL + 5
  end
end

local function measured_row(row)
  return { name = "measured", warps = row.name, bars = row.bars, marks = row.marks }
end

local function moment(v) return type(v) == "number" and v >= 0, "a number from 0 on" end
local known <const> = { from = moment, to = moment, width = option_names.whole(1) }

local function page_of(t, options, op)
  options = option_names.check(op, options, known, "{width = 600}")
  local page = setmetatable({ items = {}, y = MARGIN, from = options.from or 0,
    to = options.to or math.max(t.cycles, t.measured and t.measured.cycles or 0),
    axis = options.width or WIDTH, is_fluid = not options.width,
    unit = (t.unit or "cycles"):match "%a+", source_of = sources.reader() }, Page)
  local title = ("%s%sblock (%d,%d,%d)"):format(t.name and t.name .. ", " or "",
    t.ranks and ("ranks %s, "):format(table.concat(t.ranks, ", ")) or "", t.block[1], t.block[2],
    t.block[3])
  if page.to <= page.from then
    fail(op, "from is %s and to %s; expected %s, the first below the other", page.from,
      page.to, page.unit)
  end
  page:text(MARGIN, page.y, title, TITLE, { bold = true })
  page.y = page.y + TITLE + 6
  local top = page.y
  for i, row in ipairs(t.rows) do
    page:row(row)
    if t.measured then page:row(measured_row(t.measured.rows[i])) end
  end
  page:products(t)
  page:copies("copies", t.copies, fills.load)
  page:copies("stores", t.stores, fills.store)
  page:ticks(t, top)
  page:legend(t)
  for _, text in ipairs(t:shares()) do page:wrapped(text) end
  page.width, page.height = 2 * MARGIN + LABEL + page.axis, page.y + MARGIN - 8
  return page, title
end

function M.svg(t, file, options)
  if type(file) == "table" then file, options = nil, file end
  local page, title = page_of(t, options, "svg")
  return deliver(svg.page(page, "timeline of " .. title), file, "svg", fail)
end

--- A page of several timelines, which answers to mouse and keys.
function M.html(timelines, file, options)
  if type(file) == "table" then file, options = nil, file end
  local drawings = {}
  for i, t in ipairs(timelines) do
    local page, title = page_of(t, options, "html")
    drawings[i] = page:plain("timeline of " .. title)
  end
  local title = #drawings == 1 and drawings[1].title or ("%d timelines"):format(#drawings)
  local text = pages.make("drawing", title, { title = title, drawings = drawings })
  return deliver(text, file, "html", fail)
end

return M
