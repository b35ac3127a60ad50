-- `check --schedules`: what is found only in some orders of blocks and warps, how many orders there
-- are, and the replay of one of them.
local tap = dofile "tests/support/tap.lua"

local path <const>, saved <const> = os.tmpname(), os.tmpname()

local function check(source, options)
  local file <close> = assert(io.open(path, "w"))
  file:write(source)
  file:close()
  local pipe = assert(io.popen(("'%s' check %s %s 2>&1 </dev/null"):format(arg[-1], options, path)))
  local text = pipe:read "a":gsub("%f[^\0\n]" .. path:gsub("%p", "%%%0"), "FILE")
  pipe:close()
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
says(LOST, "--schedules", "a lost wake-up",
  "FILE:11: deadlock in block (0,0,0): warp 0 waits at line 11 for named barrier 1: ",
  "schedule of launch 1: stay 0")

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

os.remove(path)
os.remove(saved)
tap.done()
