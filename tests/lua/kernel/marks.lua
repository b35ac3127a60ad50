-- mark(name): no effect on results; predicted by timeline, and measured where there is a GPU.
local marks = require "cuttle.marks"
local here = device().sm and "cuda" or "cpu"

local function fails(...)
  local _, why = pcall(...)
  return (why:gsub("^.-:%d+: ", ""))
end

-- The kernel with marks, or with nothing in their place.
local function make(note)
  return kernel("sums", function(x, y, n)
    note("begin")
    local s = shared(f32, 64)
    local function step(i)
      if i % 2 == 1 then note("odd") end
      s[threadIdx.x] = x[threadIdx.x] + i
    end
    local sum = 0.0
    for i in range(n) do
      step(i)
      sync_threads()
      if threadIdx.x == 5 then note("lane") end
      sum = sum + s[63 - threadIdx.x]
      sync_threads()
    end
    y[threadIdx.x] = sum
    if threadIdx.x < 32 then note("first") else note("second") end
  end)
end
local with, without = make(mark), make(function() end)
local x, y = arange(f32, 64):to(here), zeros(f32, 64):to(here)
local config = { grid = 2, block = 64 }
with(config)(x, y, 6)
print(y:to("cpu")[1], y:to("cpu")[62]) -- expect: 387.0	21.0

-- Off, they leave no trace in the text.
local function text(k)
  return (k(config):source(x, y, 6):gsub("#line[^\n]*\n", ""):gsub(" *//[^\n]*", ""))
end
print(text(with) == text(without), text(with):find("mark") == nil) -- expect: true	true
-- On, they do; and off again not.
local function source(options)
  return marks.with(options, nil, function() return with(config):source(x, y, 6) end)
end
local _, n = source({}):gsub("\n *mark_record", "")
print(n) -- expect: 5
_, n = source({ waits = true }):gsub("\n *mark_record", "")
print(n) -- expect: 9
_, n = source({ lines = { 23, 27 } }):gsub("\n *mark_record", "")
print(n) -- expect: 7
print(text(with) == text(without)) -- expect: true

-- Times of marks: in order in each warp, as often as it came there.
local function check(list, what)
  local last, counts = 0, {}
  for _, m in ipairs(list) do
    local name = m.name or "line " .. m.line
    if m.at < last then print(what, name, m.at, "after", last) end
    last = m.at
    counts[name] = (counts[name] or 0) + 1
  end
  return ("%s %s %s %s %s %s"):format(counts.begin, counts.odd, counts.lane, counts.first,
    counts.second, counts["line 23"])
end
local t = timeline(with(config), { marks = { 23 }, block = 1, device = here == "cuda" }, x, y, 6)
local rows, cycles = {}, t.cycles
for i, row in ipairs(t.rows) do rows[i] = row end
print(#rows, rows[1].name) -- expect: 1	warps 0-1
print(check(rows[1].marks, "model")) -- expect: 1 3 6 1 nil 6
print(rows[1].marks[1].name, rows[1].marks[1].line, rows[1].marks[1].at) -- expect: begin	13	0
print(rows[1].marks[#rows[1].marks].at <= cycles) -- expect: true

-- On a GPU each warp has its own; on the CPU engine the model stands for it.
local function of_warp(i)
  if here == "cuda" then return check(t.measured.warps[i].marks, "measured") end
  return i == 0 and check(rows[1].marks, "model") or "1 3 nil nil 1 6"
end
print(of_warp(0)) -- expect: 1 3 6 1 nil 6
print(of_warp(1)) -- expect: 1 3 nil nil 1 6
if here == "cuda" then
  local m = t.measured
  if m.dropped ~= 0 or m.broken ~= 0 or m.cycles <= 0 then print(m.dropped, m.broken, m.cycles) end
  local site = m.warps[1].sites["22 sync_threads"]
  if site.n ~= 6 or site.wait < 0 then print("waits", site.n, site.wait) end
  if not tostring(t):find("measured: ", 1, true) then print(t) end
end
print(y:to("cpu")[1]) -- expect: 387.0

-- More records than there is room for: the rest is counted.
local many = kernel("many", function(y, n)
  for i in range(n) do
    mark("turn")
    y[threadIdx.x] = y[threadIdx.x] + 1
  end
end)
local z = zeros(f32, 32):to(here)
t = timeline(many{grid = 1, block = 32}, { device = here == "cuda" }, z, 9000)
print(#t.rows[1].marks) -- expect: 9000
print(here == "cuda" and t.measured.dropped or 808) -- expect: 808
print(here == "cuda" and #t.measured.warps[0].marks or 8192) -- expect: 8192

-- The block that is asked for, of a grid of three dimensions.
local function is_in(bx, by, bz)
  local k = kernel("block", function(a)
    if blockIdx.x == 1 and blockIdx.y == 0 and blockIdx.z == 2 then mark("mine") end
    a[threadIdx.x] = 1.0
  end)
  local seen = timeline(k{ grid = {2, 3, 4}, block = 32 }, { block = { bx, by, bz },
    device = here == "cuda" }, y)
  return #(seen.measured or seen).rows[1].marks
end
print(is_in(1, 0, 2), is_in(0, 0, 2), is_in(1, 1, 2), is_in(1, 0, 1)) -- expect: 1	0	0	0

-- A line that the block does not come to.
t = timeline(with(config), { marks = { 23, 999, 999 }, device = here == "cuda" }, x, y, 6)
print(table.concat(t.unmarked, " "), tostring(t):match "mark line 999[^\n]*")
-- expect: 999	mark line 999: no warp reaches it

-- Wrong names and options.
local function named(name)
  return fails(function() kernel("k", function() mark(name) end){grid = 1, block = 1}() end)
end
print((named(3):gsub("\n.*", "")))
-- expect: mark: the name is a number; write a string, as in mark("load")
print((named(""):gsub("\n.*", "")))
-- expect: mark: the name has 0 characters; a name has 1 to 40, as in mark("load")
print((named(("n"):rep(41)):gsub("\n.*", "")))
-- expect: mark: the name has 41 characters; a name has 1 to 40, as in mark("load")
print(fails(timeline, with(config), { marks = { 0 } }, x, y, 6))
-- expect: timeline: marks[1] is 0; a line of the script was expected, as in {marks = {12, 20}}
print(fails(timeline, with(config), { marks = 5 }, x, y, 6))
-- expect: timeline: marks is 5; up to 64 lines of the script were expected, as in {marks = {12, 20}}
print(fails(timeline, with(config), { device = true }, x:to("cpu"), y:to("cpu"), 6))
-- expect: timeline: device = true measures on a GPU, but no argument is a tensor on one; make them there, or leave it out

-- One within another: the inner one counts.
marks.with({}, nil, function()
  local _, inner = source({ lines = { 27 } }):gsub("\n *mark_record", "")
  local _, outer = with(config):source(x, y, 6):gsub("\n *mark_record", "")
  print(inner, outer) -- expect: 6	5
end)
print(text(with) == text(without)) -- expect: true
