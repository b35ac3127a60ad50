-- race.lua: which of many candidates is the fastest, without the time that it takes to measure each
-- well. In each round all that are left are timed once, in random order, so that what changes
-- slowly, such as the clock, meets all alike. The slower half leaves, and the next round's batches
-- are longer. The last few are timed in several turns, and compared turn by turn.
local lists = require "cuttle.lists"
local M = {}

local FIRST_MS <const>, LONGEST_MS <const> = 1, 20 -- of a batch
local FINALISTS <const>, TURNS <const> = 4, 7

-- Numbers of its own: the script's math.random goes on as if nothing had been tuned.
local function new_random(seed)
  local state = seed
  return function(n)
    state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
    return (state >> 33) % n + 1
  end
end

--- A list in random order. random(n): a number from 1 to n.
function M.shuffled(list, random)
  local order = table.move(list, 1, #list, 1, {})
  for i = #order, 2, -1 do
    local j = random(i)
    order[i], order[j] = order[j], order[i]
  end
  return order
end

-- Equal times: the order of the space does not decide.
local function is_faster(a, b) return a.ms < b.ms or a.ms == b.ms and a.text < b.text end

local function is_nearer(a, b)
  return a.share < b.share or a.share == b.share and is_faster(a, b)
end

--- How often the race of n candidates times one.
function M.count(n)
  local sum = 0
  while n > FINALISTS do
    sum = sum + n
    n = (n + 1) // 2
  end
  return sum + n * TURNS
end

-- Times each once; false: somebody stopped it.
local function turn(list, batch_ms, time, step, random)
  for _, candidate in ipairs(M.shuffled(list, random)) do
    local ms = time(candidate, batch_ms)
    candidate.times[#candidate.times + 1] = ms
    if not step() then return false end
  end
  return true
end

-- A candidate's share of its turn is its time over the mean of the turn's.
local function settle_finals(list, n_turns)
  for _, candidate in ipairs(list) do
    local shares, times = {}, {}
    for t = 1, n_turns do
      local sum = 0
      for _, other in ipairs(list) do sum = sum + other.finals[t] end
      times[t] = candidate.finals[t]
      shares[t] = times[t] / (sum / #list)
    end
    candidate.share, candidate.ms = lists.median(shares), lists.median(times)
  end
  table.sort(list, is_nearer)
end

local function run_finals(list, time, step, random)
  for _, candidate in ipairs(list) do
    candidate.times = {}
    candidate.finals = candidate.times
  end
  local n_turns = 0
  for _ = 1, TURNS do
    if not turn(list, LONGEST_MS, time, step, random) then break end
    n_turns = n_turns + 1
  end
  if n_turns > 0 then settle_finals(list, n_turns) end
  return n_turns == TURNS
end

-- What is known of those of the list; the ones without a time come last.
local function rank(list)
  for _, candidate in ipairs(list) do
    local last = candidate.times[#candidate.times]
    candidate.ms = last or candidate.ms
  end
  table.sort(list, function(a, b)
    if a.ms and b.ms then return is_faster(a, b) end
    return a.ms ~= nil and b.ms == nil
  end)
end

--- Times the candidates by time(candidate, batch_ms) -> ms of a launch, and calls step() after
--- each: may it go on? Sets `ms` of those that were timed. Returns the fastest, nil where none was
--- timed, and whether the race was run to its end. `seed`: of the random order.
function M.run(candidates, time, step, seed)
  local random, batch_ms = new_random(seed or 1), FIRST_MS
  local left = table.move(candidates, 1, #candidates, 1, {})
  for _, candidate in ipairs(left) do
    candidate.times, candidate.ms, candidate.share = {}, nil, nil
  end
  while #left > FINALISTS do
    local is_done = turn(left, batch_ms, time, step, random)
    rank(left)
    if not is_done then return left[1].ms and left[1], false end
    left = table.move(left, 1, (#left + 1) // 2, 1, {})
    batch_ms = math.min(2 * batch_ms, LONGEST_MS)
  end
  local is_done = run_finals(left, time, step, random)
  if not left[1].share then rank(left) end
  return left[1].ms and left[1], is_done
end

return M
