-- What marks.lua makes of a device's words, of good ones and of broken ones.
local marks = require "cuttle.marks"
local HEAD <const>, ROOM <const> = 8, 8192

local places = {
  [7] = { name = "load", line = 3, is_wait = false },
  [9] = { name = "full", op = "mbar_wait", line = 5, is_wait = true },
  [11] = { op = "wgmma_wait", line = 8, is_wait = true },
}
local HERE <const>, BEFORE <const>, AFTER <const>, LINE <const> = 0, 1 << 28, 2 << 28, 3 << 28

-- Words of warps, each {begin clock, timer, end clock, timer, records = {{id, clock}}, count =}.
local function words(warps)
  local heads, records = {}, {}
  for _, w in ipairs(warps) do
    heads[#heads + 1] = string.pack("<I8I8I8I8I8I8I8I8", w.count or #w.records, w[1], w[2], w[3],
      w[4], 0, 0, 0)
    local list = {}
    for i, r in ipairs(w.records) do
      list[i] = string.pack("<I8", (r[2] & 0xffffffff) << 32 | r[1])
    end
    records[#records + 1] = table.concat(list) .. ("\0"):rep((ROOM - #list) * 8)
  end
  return ("\0"):rep(HEAD * 8) .. table.concat(heads) .. table.concat(records)
end

local function show(bytes, n)
  local read = marks.read(bytes, places, n)
  print(("%d cycles, %d dropped, %d broken%s"):format(read.cycles, read.dropped, read.broken,
    read.mhz and (", %.0f MHz"):format(read.mhz) or ""))
  local warps = marks.warps(read)
  for i = 0, n - 1 do
    local w, out = warps[i], {}
    for _, bar in ipairs(w and w.bars or {}) do
      out[#out + 1] = ("%s%s %d-%d"):format(bar.kind, bar.what and " " .. bar.what or "", bar.from,
        bar.to)
    end
    for _, m in ipairs(w and w.marks or {}) do
      out[#out + 1] = ("%s %d"):format(m.name or "line " .. m.line, m.at)
    end
    print(w and table.concat(out, ", ") or "nothing")
  end
  return warps
end

local BEGIN <const> = (1 << 40) + 0xfffffff0 -- the low half turns over soon
local good = { BEGIN, 5000, BEGIN + 1800, 6000, records = {
  { BEFORE | 9, BEGIN + 10 }, { AFTER | 9, BEGIN + 110 }, { HERE | 7, BEGIN + 120 },
  { BEFORE | 11, BEGIN + 300 }, { AFTER | 11, BEGIN + 500 }, { LINE | 4, BEGIN + 600 } } }
local late = { BEGIN + 20, 5011, 0, 0, records = { { HERE | 7, BEGIN + 30 } } }
local warps = show(words { good, late }, 2)
-- expect: 1800 cycles, 0 dropped, 0 broken, 1800 MHz
-- expect: work 0-10, wait full 10-110, work 110-300, wait wgmma 300-500, work 500-1800, load 120, line 4 600
-- expect: load 30
print(warps[0].sites[8].work, warps[0].sites[8].wait, warps[0].sites[8].n) -- expect: 190	200	1

-- Nothing was recorded; fewer warps than the block has.
show(("\0"):rep(words({ good }):len()), 1)
-- expect: 0 cycles, 0 dropped, 0 broken
-- expect: nothing
show("", 2)
-- expect: 0 cycles, 0 dropped, 0 broken
-- expect: nothing
-- expect: nothing

-- Cut off in the middle of a record.
show(words({ good }):sub(1, (HEAD + HEAD + 2) * 8 + 3), 1)
-- expect: 1800 cycles, 0 dropped, 4 broken, 1800 MHz
-- expect: work 0-10, wait full 10-110, work 110-1800

-- Times that go back, places that there are not, a wait whose end is missing.
show(words { { 100, 0, 400, 0, records = { { BEFORE | 9, 150 }, { AFTER | 9, 120 },
  { HERE | 8, 160 }, { AFTER | 11, 170 }, { HERE | 9, 180 },
  { 9 << 28 | 7, 190 }, { HERE | 7, 200 } } } }, 1)
-- expect: 300 cycles, 0 dropped, 4 broken
-- expect: work 0-50, work 50-300, load 100

-- More marks than there is room for, and a count that no warp can have.
show(words { { 100, 0, 400, 0, count = ROOM + 17, records = { { HERE | 7, 150 } } } }, 1)
-- expect: 300 cycles, 17 dropped, 8191 broken
-- expect: load 50
show(words { { 100, 0, 400, 0, count = -3, records = {} } }, 1)
-- expect: 0 cycles, 0 dropped, 0 broken
-- expect: nothing

-- Random bytes.
math.randomseed(7)
for _ = 1, 200 do
  local list = {}
  for i = 1, math.random(0, 400) do list[i] = string.pack("<I8", math.random(0)) end
  marks.warps(marks.read(table.concat(list), places, math.random(1, 32)))
end
print "read" -- expect: read

-- Beside a prediction: the text, the differences, the picture.
local x, y = zeros(f32, 64):to("cpu"), zeros(f32, 64):to("cpu")
local twice = kernel("twice", function(a, b)
  sync_threads()
  mark("load")
  b[threadIdx.x] = a[threadIdx.x]
  sync_threads()
end)
local t = timeline(twice{grid = 1, block = 64}, {}, x, y)
local at = { first = t.rows[1].sites[98] and 98, second = t.rows[1].sites[101] and 101 }
print(at.first, at.second) -- expect: 98	101
places = { [7] = { name = "load", line = 99, is_wait = false },
  [9] = { op = "barrier", line = 98, is_wait = true },
  [11] = { op = "barrier", line = 101, is_wait = true } }
local function warp(from)
  return { from, 0, from + 3000, 0, records = { { BEFORE | 9, from + 10 }, { AFTER | 9, from + 50 },
    { HERE | 7, from + 60 }, { BEFORE | 11, from + 2000 }, { AFTER | 11, from + 2400 } } }
end
require "cuttle.timeline_device".add(t, { block = { 64, 1, 1 } }, places,
  words { warp(1000), warp(1004) })
local lines = {}
for line in tostring(t):gmatch "[^\n]+" do lines[#lines + 1] = line end
for i = 5, #lines do print((lines[i]:gsub("^ +", ""):gsub("%s+", " "))) end
-- expect: measured: 3004 cycles
-- expect: warps 0-1 .===============================================..........==============
-- expect: where they differ most, in cycles: model measured
-- expect: warps 0-1, line 101, works before 503 1950
-- expect: warps 0-1, line 101, waits for sync_threads 20 400
-- expect: warps 0-1, line 98, waits for sync_threads 20 40
-- expect: warps 0-1, line 98, works before 1 10
-- expect: mark load of warps 0-1: at 21, measured at 60
print(select(2, t:svg():gsub(">measured<", "")), (t:svg():find("load, cycle 60", 1, true)) ~= nil)
-- expect: 1	true
