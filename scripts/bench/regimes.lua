-- regimes.lua: how benchmarks time what runs back to back on a device that power limits. A
-- candidate is a table with a name and
--   start(idle, warm, sync, reps)  waits for idle ms, enqueues `warm` launches, waits for them if
--                                  sync, and enqueues `reps` launches between two events
--   finish()                       waits for them; ms of a launch
-- A regime times all candidates in each of several rounds, in random order, and takes medians:
--   sus  sustained: batches of 250 ms after 125 ms of warm-up: what a busy device does at its limit
--        of power
--   bur  burst: 200 ms idle, 3 launches to warm up, 10 timed: what a short measurement sees
--   eq   4 launches a visit, alternating: equal clock and heat; cycles are seen and energy is not
--   one  20 ms idle, a launch, a wait, one launch timed
local ct = require "cuttle"
local tools = require "tools"
local M = {}

--- Numbers of each; heat, warm and batch in ms, warm and reps in launches. quick: for a look.
M.regimes = {
  sus = { rounds = 4, heat_ms = 500, warm_ms = 125, batch_ms = 250 },
  bur = { rounds = 4, idle = 200, warm = 3, reps = 10 },
  eq = { rounds = 9, idle = 0, warm = 1, reps = 4 },
  one = { rounds = 7, idle = 20, warm = 1, sync = true, reps = 1 },
}
M.quick = {
  sus = { rounds = 1, heat_ms = 200, warm_ms = 60, batch_ms = 120 },
  bur = { rounds = 2, idle = 60, warm = 3, reps = 10 },
  eq = { rounds = 3, idle = 0, warm = 1, reps = 4 },
  one = { rounds = 3, idle = 20, warm = 1, sync = true, reps = 1 },
}

local MOST_LAUNCHES <const> = 100000
local SLOW <const> = 10 -- so many times the fastest: not worth the time

M.median = require "cuttle.lists".median

-- {====== Candidates that are launched from here ======

-- Between two events of the device, or of the queue where launches go, else by the clock.
local function two_events(queue)
  if queue then
    return function() queue:begin() end, function() queue:stop() end,
      function() return queue:elapsed() end
  end
  if ct.device().sm then
    local from, to = ct.event(), ct.event()
    return function() from:record() end, function() to:record() end,
      function() return from:elapsed(to) end
  end
  local from, to
  return function() from = tools.now() end, function() to = tools.now() end,
    function() return to - from end
end

--- A candidate of a function that enqueues one launch; in `queue`, one of tools.lua, if it says so.
function M.candidate(name, launch, queue)
  local begin, stop, elapsed = two_events(queue)
  local n
  return {
    name = name,
    start = function(idle, warm, sync, reps)
      if idle > 0 then
        ct.synchronize()
        tools.pause(idle)
      end
      for _ = 1, warm do launch() end
      if sync then ct.synchronize() end
      begin()
      for _ = 1, reps do launch() end
      stop()
      n = reps
    end,
    finish = function() return elapsed() / n end,
  }
end

-- {====== Regimes ======

local function launches(ms, once) return math.max(1, math.min(MOST_LAUNCHES, ms // once + 1)) end

-- How long a launch of the candidate takes, roughly, so that batches can be as long as they should.
local function estimate(c)
  if c.once == nil then
    c.start(0, 2, true, 1)
    c.once = math.max(c.finish(), 1e-3)
    if c.once < 20 then
      c.start(0, 1, false, 5)
      c.once = math.max(c.finish(), 1e-3)
    end
  end
  return c.once
end

-- Enqueues a sustained batch and reads the sensors while it runs.
local function start_sustained(c, r, sensors)
  local once, began = estimate(c), tools.now()
  c.start(0, launches(r.warm_ms, once), false, launches(r.batch_ms, once))
  local mhz, watts = sensors(0.8 * (r.warm_ms + r.batch_ms) - (tools.now() - began))
  if mhz then
    table.insert(c.mhz, mhz)
    table.insert(c.watts, watts)
  end
end

-- So that the first candidate finds the device as warm as the others do.
local function heat(c, ms)
  c.start(0, launches(ms, estimate(c)), false, 1)
  c.finish()
end

local function time_once(c, r, sensors)
  if r.batch_ms then
    start_sustained(c, r, sensors)
  else
    c.start(r.idle, r.warm, r.sync or false, r.reps)
  end
  return c.finish()
end

local function shuffled(list)
  local order = table.move(list, 1, #list, 1, {})
  for i = #order, 2, -1 do
    local j = math.random(i)
    order[i], order[j] = order[j], order[i]
  end
  return order
end

-- Waits for so many ms first.
local function read_sensors(ms)
  if not ct.device().sm then return nil end
  tools.pause(ms)
  local ok, mhz, watts = pcall(tools.sensors)
  if ok then return mhz, watts end
end

-- Those that are worth the time; of the others the estimate is taken.
local function worth_timing(candidates)
  local least, kept = math.huge, {}
  for _, c in ipairs(candidates) do least = math.min(least, estimate(c)) end
  for _, c in ipairs(candidates) do
    if c.once <= SLOW * least then kept[#kept + 1] = c end
  end
  return kept
end

--- Times the candidates in one regime, "sus"; sets c.ms[name], and c.clock and c.power after "sus".
--- One that is many times slower than another is launched but a few times.
--- `numbers`: M.regimes or M.quick; `sensors`: for tests.
function M.time(candidates, name, numbers, sensors)
  local r = (numbers or M.regimes)[name]
  local times, list = {}, worth_timing(candidates)
  for _, c in ipairs(candidates) do times[c], c.mhz, c.watts = {}, {}, {} end
  if r.heat_ms and list[1] then heat(list[1], r.heat_ms) end
  for _ = 1, r.rounds do
    for _, c in ipairs(shuffled(list)) do
      table.insert(times[c], time_once(c, r, sensors or read_sensors))
    end
  end
  for _, c in ipairs(candidates) do
    c.ms = c.ms or {}
    c.ms[name] = M.median(times[c]) or c.once
    if r.batch_ms then c.clock, c.power = M.median(c.mhz), M.median(c.watts) end
  end
end

--- Keeps of a list the n that "eq" finds fastest, fastest first. One that is many times slower than
--- the others is dropped before it takes time.
function M.fastest(candidates, n, numbers)
  local least = math.huge
  for _, c in ipairs(candidates) do least = math.min(least, estimate(c)) end
  local kept = {}
  for _, c in ipairs(candidates) do
    if c.once < 2 * least then kept[#kept + 1] = c end
  end
  M.time(kept, "eq", numbers)
  table.sort(kept, function(a, b) return a.ms.eq < b.ms.eq end)
  return table.move(kept, 1, math.min(n, #kept), 1, {})
end

return M
