-- schedule_page.lua: the order in which `check` found something, as a drawing: time goes down, each
-- warp has a column, and lines lead from what ends a wait to the warp that waited.
--   M.draw(finding, file)   writes an SVG or an HTML page, by the name's ending
-- A finding's `events` is the text that ct_orders_put_events (runtime/watch/orders.h) describes.
local lists = require "cuttle.lists"
local deliver = require "cuttle.picture_page".deliver
local Drawing = require "cuttle.drawing"
local pages = require "cuttle.page_file"
local schedules = require "cuttle.schedule"
local sources = require "cuttle.source_lines"
local svg = require "cuttle.svg"
local M = {}

local MARGIN <const>, ROW <const>, STEP <const> = 16, 22, 44
local SMALL <const> = 12
local COLUMN <const>, MOST <const> = 130, 260 -- the least and the greatest width of a column
local SOURCE <const> = 64 -- characters of a source line
local text_width = Drawing.text_width

local WAITS <const>, STUCK <const>, LINK <const> = "#DDDDDD", "#EE8866", "#4477AA"
local fills <const> = {
  arrive = "#BBCC33", expect = "#EEDD88", begin = "#99DDFF", complete = "#77AADD",
  pass = "#EEEEEE", test = "#EEEEEE", meet = "#EEEEEE", stuck = STUCK, atomic = "#FFD9B8",
}

local fail = require "cuttle.fail".fail

-- {====== Events ======

local function repeats(event, last)
  return last and last.verb == event.verb and last.place == event.place and last.line == event.line
    and (event.verb == "test" or event.verb == "atomic_load")
end

-- The events, from row 1 on, and the threads by number. What a loop that waits does again and again
-- is one event: `since` is the row of its first.
local function read(text)
  local events, threads, last = {}, {}, {}
  for line in text:gmatch "[^\n]+" do
    local kind, a, b, rest = line:match "^(%l+)\t(%d+)\t([^\t]*)\t?(.*)$"
    if kind == "thread" then
      threads[math.tointeger(a)] = { number = math.tointeger(a), name = b }
    elseif kind == "event" then
      local at, verb, place, turns = rest:match "^(%d+)\t([^\t]*)\t([^\t]*)\t(.*)$"
      local event = { step = math.tointeger(a), thread = math.tointeger(b),
                      line = math.tointeger(at), verb = verb, place = place,
                      turns = turns == "turns" }
      local before = last[event.thread]
      if repeats(event, before) then
        before.step, before.times = event.step, (before.times or 1) + 1
        event = before
        table.remove(events, event.row)
        for i = event.row, #events do events[i].row = i end
        event.since = event.since or event.row
      end
      events[#events + 1] = event
      event.row = #events
      last[event.thread] = event
    end
  end
  return events, threads
end

local function changes(event)
  return event.verb:find "^atomic" and event.verb ~= "atomic_load"
end

-- What an event waited for: the event that completed its phase, or that changed the word that it
-- read.
local function find_cause(events, event)
  for i = event.row - 1, 1, -1 do
    local e = events[i]
    if e.place == event.place and e.place ~= "" then
      if event.verb == "pass" and e.turns then return e end
      if event.verb == "test" and e.turns then return e end
      if event.verb == "atomic_load" and changes(e) then return e end
    end
  end
end

local function link(events)
  local last = {}
  for _, event in ipairs(events) do
    event.before = last[event.thread]
    event.cause = find_cause(events, event)
    last[event.thread] = event
  end
end

-- {====== Drawing ======

local Page = setmetatable({}, Drawing)
Page.__index = Page

local told <const> = {
  stuck = "waits for ever at", meet = "sync_threads, all warps", begin = "copy begins to",
  complete = "copy completes on", pass = "goes past", arrive = "arrives at",
  expect = "expects bytes at", test = "tests",
}

local function label_of(event)
  local verb = told[event.verb] or event.verb
  return ("%s%s%s%s"):format(verb, event.place ~= "" and " " .. event.place or "",
    event.turns and ", phase ends" or "", event.times and (", %d times"):format(event.times) or "")
end

function Page:y_of(row) return self.top + (row - 1) * ROW end

-- A column for each thread, as wide as its events need.
function Page:columns(events, threads)
  local list = {}
  for _, thread in pairs(threads) do list[#list + 1] = thread end
  table.sort(list, function(a, b) return a.number < b.number end)
  for _, thread in ipairs(list) do thread.width = text_width(thread.name, SMALL) + 16 end
  for _, event in ipairs(events) do
    local thread = threads[event.thread]
    thread.width = math.max(thread.width, text_width(label_of(event), SMALL) + 16)
  end
  local x = MARGIN + STEP
  for _, thread in ipairs(list) do
    thread.x, thread.width = x, math.min(MOST, math.max(COLUMN, thread.width))
    x = x + thread.width + 10
  end
  self.right, self.list = x, list
end

function Page:heads()
  for _, thread in ipairs(self.list) do
    self:text(thread.x + thread.width / 2, self.y, thread.name, SMALL,
      { anchor = "middle", bold = true })
  end
  self.y = self.y + ROW - 4
  self.top = self.y
end

-- From the middle of the event that ended a wait to the event after the wait.
function Page:arrow(from, to, threads)
  local a, b = threads[from.thread], threads[to.thread]
  local y1, y2 = self:y_of(from.row) + ROW / 2, self:y_of(to.row) + ROW / 2
  local is_right = b.x > a.x
  local x1 = is_right and a.x + a.width or a.x
  local x2 = is_right and b.x or b.x + b.width
  local back = is_right and -6 or 6
  self:line(x1, y1, x2, y2, 1.2, LINK)
  self:line(x2, y2, x2 + back, y2 - 4, 1.2, LINK)
  self:line(x2, y2, x2 + back, y2 + 1, 1.2, LINK)
end

-- The time that a warp waited, before the event or, if it is stuck, to the end.
function Page:wait(event, thread, n_rows)
  local from = event.before and event.before.row + 1 or 1
  local x = thread.x + thread.width / 2 - 5
  if event.verb == "stuck" then
    self:rect(x, self:y_of(from), 10, self:y_of(n_rows + 1) - self:y_of(from), STUCK)
  elseif event.since then
    self:rect(x, self:y_of(event.since), 10, (event.row - event.since) * ROW, WAITS)
  elseif event.cause and event.cause.row >= from then
    self:rect(x, self:y_of(from), 10, (event.row - from) * ROW, WAITS)
  end
end

function Page:event(event, thread, is_chosen)
  local y, label = self:y_of(event.row), label_of(event)
  local tip = ("step %d, %s, line %d: %s"):format(event.step, thread.name, event.line, label)
  self:rect(thread.x, y + 2, thread.width, ROW - 4,
    fills[event.verb:match "^atomic" or event.verb] or fills.pass, tip, event.place)
  self:text(thread.x + thread.width / 2, y + ROW / 2, label, SMALL,
    { anchor = "middle", bold = event.verb == "stuck" })
  self:text(MARGIN, y + ROW / 2, tostring(event.step), SMALL,
    { color = is_chosen and "#000000" or Drawing.GREY, bold = is_chosen })
  if is_chosen then self:rect(MARGIN + STEP - 16, y + 4, 5, ROW - 8, LINK) end
  local source = event.line > 0 and self.source_of(self.chunk, event.line)
  if source then
    source = source:match "^%s*(.-)%s*$"
    if utf8.len(source) and utf8.len(source) > SOURCE then
      source = source:sub(1, utf8.offset(source, SOURCE) - 1) .. "..."
    end
    local text = ("%d: %s"):format(event.line, source)
    self:text(self.right, y + ROW / 2, text, SMALL, { color = Drawing.GREY })
    self.most = math.max(self.most, self.right + text_width(text, SMALL))
  end
end

-- A text in lines of at most `width`.
function Page:wrapped(text, width, more)
  local function fits(line) return text_width(line, SMALL) <= width end
  for _, line in ipairs(lists.wrap(text, fits)) do
    self:text(MARGIN, self.y, line, SMALL, more)
    self.y = self.y + SMALL + 5
  end
end

local function chosen_steps(finding)
  local steps, schedule = {}, schedules.read(finding.schedule)
  for i = 1, #schedule.choices, 2 do steps[schedule.choices[i]] = true end
  return steps
end

local NOTE <const> = "Time goes down. A grey bar is a wait, an orange one a wait that nothing "
  .. "ends. A blue line leads from what ended a wait to who waited. A blue mark is a choice of "
  .. "the schedule."

local function page_of(finding)
  local events, threads = read(finding.events)
  link(events)
  local page = setmetatable({ items = {}, y = MARGIN, most = 0, chunk = finding.chunk,
                              source_of = sources.reader() }, Page)
  page:columns(events, threads)
  page.most = math.max(page.right, 700)
  local width = math.min(page.most - MARGIN, 1000) -- of the texts above
  page:wrapped(("%s:%d: %s"):format(finding.chunk, finding.line, finding.message),
    width, { bold = true })
  page:wrapped(NOTE, width, { color = Drawing.GREY })
  page.y = page.y + 6
  page:heads()
  local steps = chosen_steps(finding)
  for _, thread in ipairs(page.list) do
    local x = thread.x + thread.width / 2
    page:line(x, page.top, x, page:y_of(#events + 1), 0.6, "#BBBBBB")
  end
  for _, event in ipairs(events) do page:wait(event, threads[event.thread], #events) end
  for _, event in ipairs(events) do
    page:event(event, threads[event.thread], steps[event.step])
  end
  for _, event in ipairs(events) do
    local cause = event.cause
    if cause and cause.thread ~= event.thread then page:arrow(cause, event, threads) end
  end
  page.width, page.height = page.most + MARGIN, page:y_of(#events + 1) + MARGIN
  return page
end

-- {====== Files ======

local writers = {}

function writers.svg(page, title) return svg.page(page, title) end

function writers.html(page, title)
  return pages.make("drawing", title, { title = title, drawings = { page:plain(title) } })
end

function M.draw(finding, file)
  local kind = file:match "%.(%w+)$"
  if not writers[kind] then
    fail("timeline", "file %s; expected a name that ends in .svg or .html", file)
  end
  if not finding.events then
    fail("timeline", "the finding has no schedule: it was found in the launch's own order")
  end
  local title = ("order of %s, line %d"):format(finding.kernel, finding.line)
  return deliver(writers[kind](page_of(finding), title), file, kind, fail)
end

return M
