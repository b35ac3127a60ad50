-- `check --schedules`: what is found only in some orders of blocks and warps, how many orders there
-- are, and the replay of one of them.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local path <const>, saved <const> = os.tmpname(), os.tmpname()

local function check(source, options)
  local file <close> = assert(io.open(path, "w"))
  file:write(source)
  file:close()
  local text = shell.cuttle("check %s %s", options, path)
  text = text:gsub("%f[^\0\n]" .. path:gsub("%p", "%%%0"), "FILE")
  return text
end

local function says(source, options, name, ...)
  local text, all = check(source, options), true
  for _, part in ipairs { ... } do all = all and text:find(part, 1, true) ~= nil end
  tap.ok(all, name, text)
  return text
end

-- Tickets: each of the 3! orders gives other results.
local TICKETS <const> = [[
local k = kernel("tickets", function(next, y)
  y[blockIdx.x] = atomic_add(next, 0, 1)
end)
k{grid = 3, block = 1}(zeros(i32, 1), zeros(i32, 3))
]]
says(TICKETS, "", "one result is none of check's business", "check: no finding in 1 launch\n")
local text = says(TICKETS, "--schedules=all --save-schedule=" .. saved,
  "three tickets have six orders",
  "tickets, launch 1: 6 orders; all there are with 8 blocks at a time",
  "FILE:2: order: y[0] depends on the order of the warps: its bits are 0x00000000 in the first "
    .. "order, and 0x00000001 in the schedule below\n"
    .. "  schedule of launch 1: stay 0\n  step 1: 1 (warp 0 of block 1)")
local replayed = check(TICKETS, "--schedule=" .. saved)
tap.ok(replayed == text:gsub("check: tickets.-\n", ""), "a schedule is replayed", replayed)
says(TICKETS, "--schedules=2", "a number of orders", "tickets, launch 1: 2 orders; ",
  " more are known")
says(TICKETS, "--schedules=5 --random=7", "orders at random", "schedule of launch 1: random ",
  "5 orders")

-- A lost wake-up: the waiter looks, and sleeps at a barrier unless it saw the flag; who wakes it
-- looks whether it sleeps.
local LOST <const> = [[
local k = kernel("lost", function(y)
  local ready, sleeps = shared(i32, 1), shared(i32, 1)
  if threadIdx.x == 0 then ready[0] = 0 sleeps[0] = 0 end
  sync_threads()
  local bell = named_barrier(1, 64)
  if threadIdx.x >= 32 then
    if atomic_load(sleeps, 0) == 1 then bell:arrive() end
    if threadIdx.x == 32 then atomic_store(ready, 0, 1) end
  elseif atomic_load(ready, 0) == 0 then
    atomic_store(sleeps, 0, 1)
    bell:sync()
  end
  y[threadIdx.x] = 1
end)
k{grid = 1, block = 64}(zeros(i32, 64))
]]
says(LOST, "", "the usual order wakes it", "check: no finding in 1 launch")
local drawn <const> = os.tmpname()
local function drawing(source, kind)
  check(source, ("--schedules --save-schedule=%s --timeline=%s.%s"):format(saved, drawn, kind))
  local file <close> = assert(io.open(drawn .. "." .. kind))
  return file:read "a"
end

says(LOST, "--schedules", "a lost wake-up",
  "FILE:11: deadlock in block (0,0,0): warp 0 waits at line 11 for named barrier 1: ",
  "schedule of launch 1: stay 0")
text = drawing(LOST, "svg")
tap.ok(text:find(">warp 1 of block 0</text>", 1, true)
  and text:find(">waits for ever at named barrier 1</text>", 1, true)
  and text:find(">7: if atomic_load(sleeps, 0) == 1 then bell:arrive() end</text>", 1, true),
  "its order as a drawing", text)
text = drawing(LOST, "html")
tap.ok(text:find("atomic_store sleeps[0]", 1, true)
  and text:find("order of lost, line 11", 1, true), "and as a page", text)
says(LOST, "--schedules --timeline=" .. drawn, "a drawing has a kind",
  "expected a file that ends in .svg or .html")

-- The prompt replays a schedule, and draws it.
local function prompt(input)
  return (shell.input(input))
end

text = prompt(([[
local check = require "cuttle.check"
local f = loadfile "%s"
check.report(check.run(f))
local found = check.run(f, {schedule = "%s"})
found[1].line, found[1].message:match "for [^:]+"
check.draw(found[1], "%s.svg") == "%s.svg"
check.run(f, {schedule = "nowhere"})
]]):format(path, saved, drawn, drawn))
tap.ok(text:find("check: no finding in 1 launch\n11\tfor named barrier 1\ntrue\n", 1, true)
  and text:find("check: schedule: nowhere: No such file", 1, true), "the prompt replays it", text)
os.remove(drawn)
os.remove(drawn .. ".svg")
os.remove(drawn .. ".html")

-- Two warps count by a load and a store, twice: 4 x 4 orders, and in one of these 16 both counts are
-- lost. Each of the two blocks is searched by itself.
local COUNTS <const> = [[
local k = kernel("counts", function(y)
  local count = shared(i32, 2)
  if threadIdx.x < 2 then count[threadIdx.x] = 0 end
  sync_threads()
  if threadIdx.x >= 32 then
    for i = 0, 1 do
      if threadIdx.x % 32 == 0 then
        local c = atomic_load(count, i)
        atomic_store(count, i, c + 1)
      end
    end
  end
  sync_threads()
  if threadIdx.x == 0 and count[0] < 2 and count[1] < 2 then y[blockIdx.x] = 1 end
end)
k{grid = 2, block = 96}(zeros(i32, 2))
]]
says(COUNTS, "--schedules=all", "each order of two counts",
  "counts, launch 1: 31 orders; all there are of each block, as its blocks do not meet",
  "order: y[0] depends on the order of the warps")

-- A ring of two stages: all its orders are one, as nobody can tell them apart.
local RING <const> = [[
local k = kernel("ring", function(x, y)
  local s, full, empty = shared(i32, 64), mbarrier(2, 32), mbarrier(2, 32)
  sync_threads()
  if threadIdx.x < 32 then
    for i in range(6) do
      if i >= 2 then empty[i % 2]:wait((i // 2 + 1) % 2) end
      s[i % 2 * 32 + threadIdx.x] = x[i * 32 + threadIdx.x]
      full[i % 2]:arrive()
    end
  else
    for i in range(6) do
      full[i % 2]:wait(i // 2 % 2)
      y[i * 32 + threadIdx.x - 32] = s[i % 2 * 32 + threadIdx.x - 32]
      empty[i % 2]:arrive()
    end
  end
end)
k{grid = 2, block = 64}(zeros(i32, 192), zeros(i32, 192))
]]
says(RING, "--schedules=all", "a ring has one order",
  "ring, launch 1: 1 order; all there are of each block, as its blocks do not meet", "no finding")

-- Copies by TMA, which complete late in some orders.
local COPY <const> = [[
local k = kernel("copied", function(x, y)
  local s, full = shared(f32, 32), mbarrier(1, 1)
  local t = threadIdx.x
  sync_threads()
  if t == 0 then
    full[0]:BEGIN(128)
    tma_load(tile(tma_tensor(x), {32}, {0}), s, full[0])
  end
  REST
end)
k{grid = 1, block = 64}(ones(f32, 32), zeros(f32, 64))
]]
local function copy(begin, rest)
  return (COPY:gsub("%u%u%u%u+", { BEGIN = begin, REST = rest }))
end

local TESTED <const> = copy("arrive_expect_tx", [[
  if not full[0]:test(0) then y[t] = s[t % 32] end
  full[0]:wait(0)
]])
says(TESTED, "", "a copy at once is there when a test looks", "check: no finding in 1 launch")
says(TESTED, "--schedules=all --save-schedule=" .. saved,
  "a copy that is late, so that a test does not find it",
  "FILE:9: race: read of s at 0, extent 32, by thread (32,0,0) of block (0,0,0), and write by a "
    .. "copy to an mbarrier by thread (0,0,0) at line 7 are not ordered",
  "step 3: 0 (warp 0 of block 0, before the copy to full[0] of block 0)",
  "copied, launch 1: 6 orders; all there are of each block")
tap.ok(check(TESTED, "--schedule=" .. saved):find("FILE:9: race: read of s", 1, true) ~= nil,
  "the late copy is replayed")

-- The other warp arrives, so the phase may end before the bytes are expected.
local EXPECTED <const> = copy("expect_tx", [[
  if t == 32 then full[0]:arrive() end
  full[0]:wait(0)
  y[t] = s[t % 32]
]])
says(EXPECTED, "", "the usual order expects the bytes first", "check: no finding in 1 launch")
says(EXPECTED, "--schedules=all", "an arrival before the bytes are expected",
  "FILE:11: race: read of s at 0", "step 1: 1 (warp 1 of block 0)")

says(copy("arrive_expect_tx", [[
  local first = full[0]:test(0)
  full[0]:wait(0)
  y[t] = where(first, 1.0, 2.0) + s[t % 32]
]]), "--schedules=all", "a result that depends on when a copy completes",
  "FILE:2: order: y[0] depends on the order of the warps: its bits are 0x40000000 in the first "
    .. "order, and 0x40400000 in the schedule below")
says(copy("arrive_expect_tx", [[
  while not full[0]:test(0) do end
  y[t] = s[t % 32]
]]), "--schedules=all", "loops that wait for a copy have one order",
  "copied, launch 1: 1 order; all there are", "no finding")

-- The first block of each order writes its own element, and the second reads that of block 0.
says([[
local k = kernel("first", function(state, work, y)
  if atomic_add(state, 0, 1) == 0 then
    work[blockIdx.x] = 1.0
    atomic_store(state, 1, 1)
  else
    while atomic_load(state, 1) == 0 do end
    y[0] = work[0]
  end
end)
k{grid = 2, block = 1}(zeros(i32, 2), tensor(f32, 2), zeros(f32, 1))
]], "--schedules=all", "a read of what nobody wrote in another order",
  "FILE:7: uninitialised: read of work at 0, extent 2, by thread (0,0,0) of block (0,0,0): nobody "
    .. "has written it since it was allocated", "check: 1 finding in 1 launch")

os.remove(path)
-- What is sent to another block comes later in some orders, so a test of its barrier may come first.
local SENT <const> = [[
local k = kernel("sent", function(y)
  local got, full = shared(f32, 32), mbarrier(1, 1)
  got[threadIdx.x] = 0.0
  fence_proxy_async()
  sync_cluster()
  if threadIdx.x == 0 then
    if cluster_rank() == 0 then $send else full[0]:arrive_expect_tx($bytes) end
  end
  sync_cluster()
  if cluster_rank() == 1 then
    if threadIdx.x == 0 then if full[0]:test(0) then y[0] = 1 else y[0] = 2 end end
    full[0]:wait(0)
  end
  sync_cluster()
end)
k{grid = 2, block = 32, cluster = 2}(zeros(i32, 1))
]]
for send, bytes in pairs{["st_async(got, 0, 1.0, full[0], 1)"] = "4",
                         ["tma_store(got, got, full[0], 1)"] = "got"} do
  says(SENT:gsub("%$(%w+)", { send = send, bytes = bytes }), "--schedules=all", "late: " .. send,
    "order: y[0] depends on the order of the warps", "before the copy to full[0] of block 1",
    "check: 1 finding in 1 launch")
end

os.remove(saved)
tap.done()
