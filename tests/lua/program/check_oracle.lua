-- `check` of random kernels against an exact oracle. A kernel is a list of plain and atomic accesses
-- to two places, by one thread, a warp or all threads, with barriers between. `check` must report a
-- race if and only if accesses by different threads meet, one of them writes, not both are atomic,
-- and no barrier parts them. Arguments: seed and number of kernels.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local THREADS <const>, WARP <const> = 64, 32
local relaxed = { order = "relaxed" } -- it orders nothing

-- s: the places; t: the thread; n: the step's number. All values that are written differ.
local accesses = {
  write = function(s, i, t, _, n) s[i] = t + n * 1000 + 1 end,
  read = function(s, i, t, out) out[t] = out[t] + s[i] end,
  add = function(s, i) atomic_add(s, i, 1) end,
  load = function(s, i, t, out) out[t] = out[t] + atomic_load(s, i, relaxed) end,
  store = function(s, i, t, _, n) atomic_store(s, i, t + n * 1000 + 1, relaxed) end,
}
local writes = { write = true, add = true, store = true }
local is_atomic = { add = true, load = true, store = true }

local names = { "write", "read", "read", "add", "add", "load", "store", "barrier", "barrier",
                "sync_warp" }
-- From the first thread to the last one, in both.
local people = { { 0, 0 }, { 31, 31 }, { 5, 5 }, { 63, 63 }, { 40, 40 }, { 0, 31 }, { 32, 63 },
                 { 0, 63 } }

local function generate()
  local steps = { { name = "write", place = 0, who = people[math.random(5)] },
                  { name = "write", place = 1, who = people[math.random(5)] },
                  { name = "barrier" } }
  for _ = 1, math.random(2, 7) do
    steps[#steps + 1] = { name = names[math.random(#names)], place = math.random(0, 1),
                          who = people[math.random(#people)] }
  end
  return steps
end

-- {====== The oracle ======

local function meet(a, b)
  return a.place == b.place and a.thread ~= b.thread and (writes[a.name] or writes[b.name])
    and not (is_atomic[a.name] and is_atomic[b.name]) and a.epoch == b.epoch
    and (a.thread // WARP ~= b.thread // WARP or a.sub == b.sub)
end

local function races(steps)
  local done, epoch, sub = {}, 0, 0
  for _, step in ipairs(steps) do
    epoch = epoch + (step.name == "barrier" and 1 or 0)
    sub = sub + (step.name == "sync_warp" and 1 or 0)
    for thread = step.who and step.who[1] or 0, accesses[step.name] and step.who[2] or -1 do
      local access = { place = step.place, thread = thread, name = step.name, epoch = epoch,
                       sub = sub }
      for _, old in ipairs(done) do
        if meet(old, access) then return true end
      end
      done[#done + 1] = access
    end
  end
  return false
end

-- {====== Kernels ======

local spaces = {
  shared = { grid = 1, block = THREADS }, global = { grid = 1, block = THREADS },
  named = { grid = 1, block = THREADS }, -- shared, compared by vector clocks
  blocks = { grid = THREADS // WARP, block = WARP, cooperative = true },
}

local function kernel_of(steps, space)
  return function(y, out)
    local t = blockIdx.x * blockDim.x + threadIdx.x
    local s = y
    if space == "shared" or space == "named" then s = shared(i32, 2) end
    if space == "named" then named_barrier(1, THREADS):sync() end
    for n, step in ipairs(steps) do
      local access = accesses[step.name]
      if step.name == "sync_warp" then
        sync_warp()
      elseif step.name == "barrier" then
        if space == "blocks" then sync_grid() else sync_threads() end
      elseif step.who[1] == 0 and step.who[2] == THREADS - 1 then
        access(s, step.place, t, out, n)
      elseif t >= step.who[1] and t <= step.who[2] then
        access(s, step.place, t, out, n)
      end
    end
  end
end

local function finds_race(steps, space)
  local findings, _, ok, message = check.run(function()
    kernel("k", kernel_of(steps, space))(spaces[space])(zeros(i32, 2), zeros(i32, THREADS))
  end)
  assert(ok, message)
  for _, finding in ipairs(findings) do
    if finding.kind:find("race", 1, true) then return true end
  end
  return false
end

local function text(steps)
  local out = {}
  for i, step in ipairs(steps) do
    out[i] = accesses[step.name] and ("%s %d by %d to %d"):format(step.name, step.place,
      step.who[1], step.who[2]) or step.name
  end
  return table.concat(out, "; ")
end

-- {====== Main ======

math.randomseed(tonumber(arg[1] or 1))
local wrong, n_races, n = {}, 0, tonumber(arg[2] or 150)
for _ = 1, n do
  local steps = generate()
  local want = races(steps)
  n_races = n_races + (want and 1 or 0)
  for space in pairs(spaces) do
    if finds_race(steps, space) ~= want then
      wrong[#wrong + 1] = ("%s, %s: %s"):format(space, want and "missed" or "invented", text(steps))
    end
  end
end
tap.ok(#wrong == 0, "races are found, and none is invented", table.concat(wrong, "\n"))
tap.ok(n_races > n // 4 and n_races < 3 * n // 4, "some kernels have races, some have none",
  n_races)
tap.done()
