-- Laws of the race of tune, with times that are given: no noise drops the best, the order of
-- candidates decides nothing, and slow changes of the clock meet all alike.
local race = require "cuttle.race"
math.randomseed(20261124)

local function go_on() return true end

local function candidates(times)
  local list = {}
  for i, ms in ipairs(times) do list[i] = { text = ("c%03d"):format(i), true_ms = ms } end
  return list
end

local function shuffle(list) return race.shuffled(list, math.random) end

local function true_time(candidate) return candidate.true_ms end

-- Without noise the fastest wins, of any number, in any order, with any seed.
local wrong, unfinished = 0, 0
for n = 1, 60 do
  local times = {}
  for i = 1, n do times[i] = math.random() + 0.01 end
  local list = candidates(times)
  local least = math.min(table.unpack(times))
  for seed = 1, 5 do
    local best, is_done = race.run(shuffle(list), true_time, go_on, seed)
    wrong = wrong + (best.true_ms ~= least and 1 or 0)
    unfinished = unfinished + (is_done and 0 or 1)
  end
end
print(wrong, unfinished)                   -- expect: 0	0

-- Equal times: the same one wins in every order.
local winners = {}
for seed = 1, 30 do
  local best = race.run(shuffle(candidates{ 2, 1, 1, 3, 1, 2, 1 }), true_time, go_on, seed)
  winners[best.text] = true
end
print(next(winners), next(winners, next(winners))) -- expect: c002	nil

-- The count of turns is what the race takes.
local miscounted = 0
for n = 1, 40 do
  local steps, times = 0, {}
  for i = 1, n do times[i] = i end
  race.run(candidates(times), true_time, function()
    steps = steps + 1
    return true
  end)
  miscounted = miscounted + (steps == race.count(n) and 0 or 1)
end
print(miscounted, race.count(64) < 64 * 3) -- expect: 0	true

-- A clock that falls to half during the race: the fastest by 3 % still wins, as each turn compares.
local missed = 0
for seed = 1, 40 do
  local list = shuffle(candidates{ 1.00, 1.03, 1.05, 1.06, 1.2, 1.3, 1.5, 1.6, 2, 2.5, 3, 4 })
  local now = 0
  local best = race.run(list, function(c)
    now = now + 1
    return c.true_ms * (1 + now / race.count(#list)) * (1 + 0.005 * (math.random() - 0.5))
  end, go_on, seed)
  missed = missed + (best.true_ms <= 1.03 and 0 or 1)
end
print(missed)                              -- expect: 0

-- Batches get longer as fewer are left.
local seen, longest = {}, 0
local seventeen = {}
for i = 1, 17 do seventeen[i] = i end
race.run(candidates(seventeen), function(c, batch_ms)
  seen[batch_ms] = (seen[batch_ms] or 0) + 1
  longest = math.max(longest, batch_ms)
  return c.true_ms
end, go_on)
print(seen[1], seen[2], seen[4], longest, seen[longest]) -- expect: 17	9	5	20	21

-- Stopped at any step, the fastest of those that were timed wins; stopped at once, nobody.
local bad = 0
for stop = 1, race.count(12) - 1 do
  local steps, least = 0, math.huge
  local best, is_done = race.run(shuffle(candidates{ 5, 3, 9, 1, 7, 2, 8, 4, 6, 11, 10, 12 }),
    function(c)
      least = math.min(least, c.true_ms)
      return c.true_ms
    end, function()
      steps = steps + 1
      return steps < stop
    end)
  bad = bad + ((best.true_ms == least and not is_done) and 0 or 1)
end
print(bad)                                 -- expect: 0

-- It draws numbers of its own.
math.randomseed(5)
local a = math.random(1000000)
math.randomseed(5)
race.run(candidates{ 1, 2, 3, 4, 5, 6 }, true_time, go_on)
print(math.random(1000000) == a)           -- expect: true
