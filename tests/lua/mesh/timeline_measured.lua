-- What devices of several ranks recorded, on one axis: from bytes as a GPU writes them (tests have no GPU); and that
-- launches that record run at once, on a driver of tests/c.
local tap = dofile "tests/support/tap.lua"
local clocks = require "cuttle.timeline_clocks"
local marks = require "cuttle.marks"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)

-- The bytes of a block of one warp: clocks and timers at its begin and end, and its records {id, clock}.
local HEAD <const>, WARP <const>, COUNTS <const>, ROOM <const> = 8, 40, 8, 8192 + 31 * 256
local function words_of(head, records)
  local words = {}
  for i = 0, HEAD + WARP + ROOM - 1 do words[i] = 0 end
  for i = 1, 4 do words[HEAD + i - 1] = head[i] end
  words[HEAD + COUNTS] = #records
  for i, r in ipairs(records) do words[HEAD + WARP + i - 1] = r[2] << 32 | r[1] end
  local bytes = {}
  for i = 0, #words do bytes[#bytes + 1] = string.pack("<I8", words[i]) end
  return table.concat(bytes)
end
local HERE <const>, BEFORE <const>, AFTER <const> = 0 << 28, 1 << 28, 2 << 28
local places = { { name = "asked", line = 1 }, { name = "told", line = 2 },
  { name = "answered", line = 3 },
  { is_wait = true, op = "mbarrier_wait", name = "full", line = 4 } }

-- The timer of rank 1 is 5 ms ahead. Clocks go at 2000 and 1000 MHz, and have nothing to do with each other.
local mega = 1000000
local asking = marks.read(words_of({ 10 * mega, mega, 10 * mega + 40000, mega + 20000 }, {
  { HERE | 1, 10 * mega + 2000 }, { HERE | 2, 10 * mega + 10000 },   -- 1000 to 5000 ns
  { HERE | 1, 10 * mega + 20000 }, { HERE | 2, 10 * mega + 22000 } }), places, 1) -- 10000 to 11000
local answering = marks.read(words_of({ 77 * mega, 6 * mega, 77 * mega + 20000,
  6 * mega + 20000 }, {
  { HERE | 3, 77 * mega + 2500 }, { HERE | 3, 77 * mega + 10500 } }), places, 1)
local offset, within = clocks.offset({ read = asking, mhz = 1 }, { read = answering, mhz = 1 })
tap.is(offset, 5 * mega + 0.0, "the shortest way tells how far timers are apart")
tap.is(within, 500.0, "and how far that may be wrong")

local function part(rank, head, records)
  return { launch = { rank = rank, name = "k", file = "x.lua", line = 1, block = { 32, 1, 1 },
    grid = { 1, 1, 1 } }, places = places, words = words_of(head, records) }
end
local aligned = { [0] = { offset = 0, within = 0 }, { offset = 5 * mega, within = 500 } }
local rows, ns = clocks.rows({
  part(1, { 5000, 5 * mega + 1700, 25000, 5 * mega + 21700 }, { { BEFORE | 4, 6000 },
    { AFTER | 4, 8000 }, { HERE | 2, 8500 } }),
  part(0, { 900000, 1000, 940000, 21000 }, { { HERE | 1, 904000 } }) }, aligned)
tap.is(#rows, 2, "a row of each rank")
tap.is(rows[1].name .. ", " .. rows[2].name, "rank 0 warp 0, rank 1 warp 0", "by rank")
tap.is(rows[1].marks[1].at, 2000.0, "4000 cycles of 2000 MHz")
tap.is(rows[2].marks[1].at, 700 + 3500.0, "700 ns later, and 3500 cycles of 1000 MHz")
tap.is(rows[2].bars[2].kind .. " " .. rows[2].bars[2].what, "wait full", "a wait")
tap.is(rows[2].bars[2].to - rows[2].bars[2].from, 2000.0, "its time")
tap.is(ns, 20700.0, "all")
tap.is(clocks.text(aligned), "clocks aligned within 500 ns", "what the title says")
tap.is(#clocks.rows({ part(0, { 0, 0, 0, 0 }, {}) }, aligned), 0, "nothing was recorded")
local svg = require("cuttle.timeline_page").svg { rows = rows, cycles = ns, unit = "ns measured",
  products = {}, copies = {}, stores = {}, block = { 0, 0, 0 }, ranks = { 0, 1 },
  shares = function() return {} end }
tap.is(svg:match "waits for full, line 4, [^<]*", "waits for full, line 4, ns 1700 to 3700",
  "the picture says the unit")

-- Launches that record begin together; then the kernels that align the clocks do. The driver's kernels do nothing.
gpus.driver = gpus.build("fake_libcuda", "-DFAKE_DEVICES=8 -DWITH_MAPS")
local log = gpus.dir .. "/order"
local script = gpus.script [[
local m = mesh{ d = 2 }
local flags = m:zeros(i32, 2, "(r@d)")
local meet = kernel("meet", function(mine, theirs)
  mark "begin"
  atomic_store(theirs, 0, 1, { scope = "sys" })
end)
m:run(function(r)
  for _ = 1, 2 do meet{ grid = 1, block = 32 }(flags:part(), peer_tensor(flags, 1 - r.rank)) end
end)
]]
local out = gpus.capture(gpus.command(("FAKE_MEET='meet 2' FAKE_ORDER_LOG='%s' timeout -s KILL 300")
  :format(log), script):gsub("' '([^']*)'$", "' timeline --measure '%1'"))
gpus.like(out, "^timeline: .*", "nothing is recorded there")
tap.is(gpus.read(log):gsub("\n", ", "), ("0: meet, 1: meet, "):rep(2)
  .. ("0: clocks, 1: clocks, "):rep(2), "at once")
gpus.done()
