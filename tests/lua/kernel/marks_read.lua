-- What marks.lua makes of a device's words, of good ones and of broken ones.
local marks = require "cuttle.marks"
local HEAD <const>, WARP <const>, ROOM <const>, LANE_ROOM <const> = 8, 40, 8192, 256

local places = {
  [7] = { name = "load", line = 3, is_wait = false },
  [9] = { name = "full", op = "mbar_wait", line = 5, is_wait = true },
  [11] = { op = "wgmma_wait", line = 8, is_wait = true },
}
local HERE <const>, BEFORE <const>, AFTER <const>, LINE <const> = 0, 1 << 28, 2 << 28, 3 << 28

-- Records of a thread, and zeros up to its room.
local function room(records, size)
  local list = {}
  for i, r in ipairs(records or {}) do
    list[i] = string.pack("<I8", (r[2] & 0xffffffff) << 32 | r[1])
  end
  return table.concat(list) .. ("\0"):rep((size - #list) * 8)
end

-- Words of warps, each {begin clock, timer, end clock, timer, records = {{id, clock}}, count =,
-- lanes = {[5] = records}}.
local function words(warps)
  local heads, records = {}, {}
  for _, w in ipairs(warps) do
    local head, lanes = { w[1], w[2], w[3], w[4], 0, 0, 0, 0, w.count or #w.records }, w.lanes or {}
    for lane = 1, 31 do head[#head + 1] = w.count and 0 or #(lanes[lane] or {}) end
    heads[#heads + 1] = string.pack(("<" .. ("i8"):rep(WARP)), table.unpack(head))
    records[#records + 1] = room(w.records, ROOM)
    for lane = 1, 31 do records[#records + 1] = room(lanes[lane], LANE_ROOM) end
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
local site = warps[0].sites["8 wgmma"]
print(site.work, site.wait, site.n) -- expect: 190	200	1

-- Nothing was recorded; fewer warps than the block has.
show(("\0"):rep(words({ good }):len()), 1)
-- expect: 0 cycles, 0 dropped, 0 broken
-- expect: nothing
show("", 2)
-- expect: 0 cycles, 0 dropped, 0 broken
-- expect: nothing
-- expect: nothing

-- Cut off in the middle of a record.
show(words({ good }):sub(1, (HEAD + WARP + 2) * 8 + 3), 1)
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
-- expect: 300 cycles, 0 dropped, 0 broken
-- expect: work 0-300

-- The first thread ended early, without a count.
show(words { { 100, 0, 0, 0, count = 0, records = { { HERE | 7, 150 }, { BEFORE | 9, 160 },
  { AFTER | 9, 180 } } } }, 1)
-- expect: 80 cycles, 0 dropped, 0 broken
-- expect: work 0-60, wait full 60-80, load 50

-- Threads that parted record at the same time, each in its own room. The first thread stands for the
-- warp; of other threads only marks count that none before them came to. In one room for all of them
-- these records would lie over each other.
local parted = { 100, 0, 900, 0,
  records = { { BEFORE | 11, 200 }, { AFTER | 11, 400 }, { BEFORE | 9, 410 }, { AFTER | 9, 430 } },
  lanes = { { { BEFORE | 9, 205 }, { AFTER | 9, 431 } },
    [5] = { { HERE | 7, 150 }, { BEFORE | 9, 206 }, { HERE | 7, 420 }, { AFTER | 9, 432 } },
    [6] = { { HERE | 7, 151 } } } }
show(words { parted }, 1)
-- expect: 800 cycles, 0 dropped, 0 broken
-- expect: work 0-100, wait wgmma 100-300, work 300-310, wait full 310-330, work 330-800, load 50, load 320
local one = { 100, 0, 900, 0, records = { table.unpack(parted.records) } }
one.records[1] = parted.lanes[1][2]
show(words { one }, 1)
-- expect: 800 cycles, 0 dropped, 3 broken
-- expect: work 0-800

-- Random bytes.
math.randomseed(7)
for _ = 1, 200 do
  local list = {}
  for i = 1, math.random(0, 600) do list[i] = string.pack("<I8", math.random(0)) end
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
local sites = t.rows[1].sites
print(sites["130 sync_threads"].n, sites["133 sync_threads"].n) -- expect: 1	1
places = { [7] = { name = "load", line = 131, is_wait = false },
  [9] = { op = "barrier", line = 130, is_wait = true },
  [11] = { op = "barrier", line = 133, is_wait = true } }
local function warp(from)
  return { from, 0, from + 3000, 0, records = { { BEFORE | 9, from + 10 }, { AFTER | 9, from + 50 },
    { HERE | 7, from + 60 }, { BEFORE | 11, from + 2000 }, { AFTER | 11, from + 2400 } } }
end
require "cuttle.timeline_device".add(t, { block = { 64, 1, 1 } }, places,
  words { warp(1000), warp(1004) })
local lines = {}
for line in tostring(t):gmatch "[^\n]+" do lines[#lines + 1] = line end
for i = 5, #lines do print((lines[i]:gsub("^ +", ""):gsub("%s+", " "))) end
-- expect: 100 % is all 545 cycles of the model: a role that ends before has less, and each share is rounded
-- expect: measured: 3004 cycles
-- expect: warps 0-1 .===============================================..........==============
-- expect: where they differ most, in cycles: model measured
-- expect: warps 0-1, line 133, works before 503 1950
-- expect: warps 0-1, line 133, waits for sync_threads 20 400
-- expect: warps 0-1, line 130, waits for sync_threads 20 40
-- expect: warps 0-1, line 130, works before 1 10
-- expect: mark load of warps 0-1: at 21, measured at 60
print(select(2, t:svg():gsub(">measured<", "")), (t:svg():find("load, cycle 60", 1, true)) ~= nil)
-- expect: 1	true

-- Waits at one line, as those of a library's kernel: each thing that is waited for counts apart.
places = { [9] = { name = "K_full", op = "mbar_wait", line = 5, is_wait = true },
  [11] = { name = "V_full", op = "mbar_wait", line = 5, is_wait = true } }
sites = marks.warps(marks.read(words { good }, places, 1))[0].sites
print(sites["5 K_full"].wait, sites["5 V_full"].wait, sites["5 V_full"].work) -- expect: 100	200	190

-- A mark of another thread that came before those of the first one.
places = { [7] = { name = "load", line = 3, is_wait = false } }
show(words { { 100, 0, 900, 0, records = { { LINE | 4, 700 } },
  lanes = { [5] = { { HERE | 7, 150 } } } } }, 1)
-- expect: 800 cycles, 0 dropped, 0 broken
-- expect: work 0-800, load 50, line 4 600

-- Times count from the first clock of the block, whichever warp read it. A warp records nothing
-- before it begins. A short time tells no clock rate.
show(words { { 1020, 5000, 1100, 5500, records = { { HERE | 7, 1010 }, { HERE | 7, 1030 } } },
  { 1000, 5000, 1300, 5999, records = { { HERE | 7, 1005 } } } }, 2)
-- expect: 300 cycles, 0 dropped, 1 broken
-- expect: work 20-100, load 30
-- expect: work 0-300, load 5
