-- How benchmarks time in regimes: what is launched, in which order, and which medians come out, by
-- candidates that only say what they were asked to do.
package.path = "scripts/bench/?.lua;" .. package.path
local regimes = require "regimes"
local log
local function fake(name, ms)
  local c = {name = name}
  function c.start(idle, warm, sync, reps)
    log[#log + 1] = ("%s idle %d warm %d%s reps %d"):format(name, idle, warm,
      sync and " sync" or "", reps)
  end
  function c.finish() return type(ms) == "table" and table.remove(ms, 1) or ms end
  return c
end
local function no_sensors() return nil end

print(regimes.median{3, 1, 2}, regimes.median{4, 1, 2, 3}, regimes.median{}) -- expect: 2	2.5	nil

-- A launch of 50 ms: 3 to warm up, 6 to be timed. The first two entries are the estimate and heat.
log = {}
local slow = fake("slow", 50)
regimes.time({slow}, "sus", nil, function(ms)
  log[#log + 1] = ("sensors after %.0f ms"):format(ms / 50 + 0.5) -- of 300, less what time passed
  return 1400, 699.5
end)
for i = 1, 4 do print(log[i]) end
-- expect: slow idle 0 warm 2 sync reps 1
-- expect: slow idle 0 warm 11 reps 1
-- expect: slow idle 0 warm 3 reps 6
-- expect: sensors after 6 ms
print(#log, slow.ms.sus, slow.clock, slow.power) -- expect: 10	50.0	1400.0	699.5

-- A short launch is estimated from five; the median of the rounds counts.
log = {}
local short = fake("short", {9, 1, 5, 7, 6, 8})
regimes.time({short}, "bur", nil, no_sensors)
print(short.once, short.ms.bur, #log) -- expect: 1	6.5	6
print(log[2])                         -- expect: short idle 0 warm 1 reps 5
print(log[6])                         -- expect: short idle 200 warm 3 reps 10

log = {}
local one = fake("one", 30)
regimes.time({one}, "one", nil, no_sensors)
print(log[2], #log)                   -- expect: one idle 20 warm 1 sync reps 1	8

-- All candidates in each round, in an order that changes.
log = {}
local a, b, c = fake("a", 30), fake("b", 31), fake("c", 32)
regimes.time({a, b, c}, "eq", nil, no_sensors)
local orders, all = {}, 0
for i = 4, #log, 3 do
  local names = {log[i]:sub(1, 1), log[i + 1]:sub(1, 1), log[i + 2]:sub(1, 1)}
  orders[table.concat(names)] = true
  table.sort(names)
  if table.concat(names) == "abc" then all = all + 1 end
end
print(all, next(orders, next(orders)) ~= nil) -- expect: 9	true

-- What is more than twice as slow as the fastest is not screened further.
log = {}
local kept = regimes.fastest({c, fake("d", 70), b, a}, 2)
print(#kept, kept[1].name, kept[2].name)      -- expect: 2	a	b
print(table.concat(log, ";"):find("d idle 0 warm 1", 1, true)) -- expect: nil

-- A real one: calls are counted.
local n = 0
local real = regimes.candidate("real", function() n = n + 1 end)
real.start(0, 2, true, 3)
print(real.finish() >= 0, n)                  -- expect: true	5
