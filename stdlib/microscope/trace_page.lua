-- trace_page.lua: a trace as a page: the source on the left, the threads and the tensors' elements
-- on the right; pointing at one of them marks what belongs to it. A page needs nothing else: no
-- network, no file beside it. It is trace_page.html with page.css, trace_page.css and trace_page.js
-- in it; the head of trace_page.js says what data it gets from here.
local json = require "cuttle.json"
local pages = require "cuttle.page_file"
local place_of = require "cuttle.element_places".place_of
local M = {}

local MAX_CELLS <const> = 4096 -- of one tensor
local MAX_SIDE <const> = 256
local MAX_EVENTS <const> = 200000
local MARGIN <const> = 1        -- cells drawn around those that were touched
local MAX_LINES <const> = 400   -- of a source shown whole
local AROUND <const> = 25       -- lines shown around the others

-- {====== Cells ======

local function clamp(n, low, high) return math.max(low, math.min(high, n)) end

-- The part of an axis that is drawn: what was touched, a little more, not too much.
local function window(low, high, extent, most)
  low, high = clamp(low - MARGIN, 0, low), clamp(high + MARGIN, high, math.max(extent - 1, high))
  return low, math.min(high, low + most - 1)
end

local function bounds(touched)
  local box = { math.huge, -math.huge, math.huge, -math.huge }
  for _, cell in ipairs(touched) do
    box[1], box[2] = math.min(box[1], cell.row), math.max(box[2], cell.row)
    box[3], box[4] = math.min(box[3], cell.col), math.max(box[4], cell.col)
  end
  return box
end

-- {====== Panels ======

local Panels = {}
Panels.__index = Panels

local function new_panel(tensor)
  local place, axes = place_of(tensor)
  return { tensor = tensor, place = place, axes = axes, touched = {}, index_of = {} }
end

-- The numbers, from 0, of the panel and of the cell in it.
function Panels:add(name, block, offset)
  local tensor = self.tensors[name]
  local key = tensor.space == "shared" and ("%s %d"):format(name, block) or name
  if not self.by_key[key] then
    local panel = new_panel(tensor)
    panel.block = tensor.space == "shared" and block or nil
    panel.number = #self.list
    self.list[#self.list + 1], self.by_key[key] = panel, panel
  end
  local panel = self.by_key[key]
  if not panel.index_of[offset] then
    local row, col = panel.place(offset)
    panel.index_of[offset] = #panel.touched
    panel.touched[#panel.touched + 1] = { row = row, col = col, offset = offset }
  end
  return panel.number, panel.index_of[offset]
end

local function panel_data(panel, crd_text, wanted)
  local tensor, box = panel.tensor, bounds(panel.touched)
  local cols_most = math.min(MAX_SIDE, MAX_CELLS // math.min(box[2] - box[1] + 3, MAX_SIDE))
  local row0, row1 = window(box[1], box[2], panel.axes.rows, math.min(MAX_SIDE, MAX_CELLS))
  local col0, col1 = window(box[3], box[4], panel.axes.cols, cols_most)
  local out = { name = tensor.name, space = tensor.space, block = panel.block or json.null,
    layout = tostring(tensor.layout), bytes = tensor.bytes,
    rows = row1 - row0 + 1, cols = col1 - col0 + 1, row0 = row0, col0 = col0,
    wanted = wanted and panel.index_of[wanted] or json.null,
    row = {}, col = {}, offset = {}, crd = {} }
  local outside = 0
  for i, cell in ipairs(panel.touched) do
    out.row[i], out.col[i], out.offset[i] = cell.row - row0, cell.col - col0, cell.offset
    out.crd[i] = crd_text(tensor, cell.offset)
    if cell.row > row1 or cell.col > col1 then outside = outside + 1 end
  end
  out.outside = outside
  return out
end

-- {====== Sources ======

local function source_range(lines, marked)
  if #lines <= MAX_LINES then return 1, math.max(#lines, marked[#marked]) end
  return math.max(1, marked[1] - AROUND), math.min(#lines, marked[#marked] + AROUND)
end

-- Each source once, in the order of the events, with the numbers of its marked lines.
local function sources_data(list, sources)
  local out = {}
  for i, source in ipairs(list) do
    table.sort(source.marked)
    local lines = sources[source.chunk]
    local first, last = source_range(lines, source.marked)
    local texts = {}
    for n = first, last do texts[#texts + 1] = lines[n] or "" end
    out[i] = { name = source.chunk, first = first, lines = texts }
  end
  return out
end

-- {====== Events ======

local kinds <const> = { reads = 0, writes = 1, computes = 2 }

-- A list of things with a key each: number, from 0, of the thing with that key.
local function numbering(make)
  local list, number_of = {}, {}
  return list, function(key, ...)
    if not number_of[key] then
      number_of[key] = #list
      list[#list + 1] = make(...)
    end
    return number_of[key]
  end
end

local function page_data(t, crd_text)
  local panels = setmetatable({ tensors = t.tensors, list = {}, by_key = {} }, Panels)
  local sources, source_of = numbering(function(chunk) return { chunk = chunk, marked = {} } end)
  local threads, thread_of = numbering(function(block, thread) return { block, thread } end)
  local lines, line_of = numbering(function(source, n)
    table.insert(sources[source + 1].marked, n)
    return { source, n }
  end)
  panels:add(t.tensor, 0, t.offset)
  local events = {}
  for _, row in ipairs(t.rows) do
    local line = line_of(row.chunk .. ":" .. row.line, source_of(row.chunk, row.chunk), row.line)
    local thread = thread_of(row.block .. " " .. row.thread, row.block, row.thread)
    local event = { kinds[row.kind], line, thread, row.times }
    if row.tensor and event[1] then
      event[5], event[6] = panels:add(row.tensor, row.owner or row.block, row.offset)
    end
    events[#events + 1] = event[1] and event
  end
  local panel_list = {}
  for i, panel in ipairs(panels.list) do
    panel_list[i] = panel_data(panel, crd_text, i == 1 and t.offset)
  end
  return { title = t.tensor .. t.element, grid = t.grid, block = t.block, threads = threads,
    sources = sources_data(sources, t.sources), lines = lines, panels = panel_list,
    events = events }
end

-- {====== The page ======

-- `crd_text(tensor, offset)`: a coordinate as text. `fail`: raises a formatted message.
function M.page(t, crd_text, fail)
  if #t.rows > MAX_EVENTS then
    fail("the trace has %d events; at most %d fit a page", #t.rows, MAX_EVENTS)
  end
  local data = page_data(t, crd_text)
  return pages.make("trace", data.title .. " - trace", data)
end

return M
