-- `check` of counters. One thread sets a counter by a plain write, all threads change it by atomic
-- operations, and one thread reads it by a plain read. Each step needs a barrier. The check must find
-- a missing one whichever thread sets or reads, and must find nothing if both are there.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

-- Threads of a block, and whether all threads of the grid count, or those of one block.
local BLOCK <const> = 96

-- Operations of all threads.
local operations = {
  add = function(t, i) atomic_add(t, 0, 1) end,
  max = function(t, i) atomic_max(t, 0, i) end,
  min = function(t, i) atomic_min(t, 0, -i) end,
  ["and"] = function(t, i) atomic_and(t, 0, i) end,
  ["or"] = function(t, i) atomic_or(t, 0, i) end,
  xor = function(t, i) atomic_xor(t, 0, i) end,
  exch = function(t, i) atomic_exch(t, 0, i) end,
  cas = function(t, i) atomic_cas(t, 0, 0, i) end,
}

-- A kernel; `fault` names the barrier that is missing: "before" or "after" the operations, nil: none.
local kernels = {
  shared = function(operate, who, fault)
    return function(y, out)
      local s, t = shared(i32, 1), threadIdx.x
      if t == who then s[0] = 7 end
      if fault ~= "before" then sync_threads() end
      operate(s, t)
      if fault ~= "after" then sync_threads() end
      if t == who then out[blockIdx.x] = s[0] end
    end
  end,
  global = function(operate, who, fault)
    return function(y, out)
      local t = threadIdx.x
      if t == who then y[0] = 7 end
      if fault ~= "before" then sync_threads() end
      operate(y, t)
      if fault ~= "after" then sync_threads() end
      if t == who then out[0] = y[0] end
    end
  end,
  grid = function(operate, who, fault)
    return function(y, out)
      local t = blockIdx.x * BLOCK + threadIdx.x
      if t == who then y[0] = 7 end
      if fault ~= "before" then sync_grid() end
      operate(y, t)
      if fault ~= "after" then sync_grid() end
      if t == who then out[0] = y[0] end
    end
  end,
  warp = function(operate, who, fault)
    return function(y, out)
      local s, t = shared(i32, 1), threadIdx.x
      if t == who then s[0] = 7 end
      if fault ~= "before" then sync_warp() end
      operate(s, t)
      if fault ~= "after" then sync_warp() end
      if t == who then out[0] = s[0] end
    end
  end,
  named = function(operate, who, fault) -- a kernel whose accesses are compared by vector clocks
    return function(y, out)
      local s, t, all = shared(i32, 1), threadIdx.x, named_barrier(1, BLOCK)
      if t == who then s[0] = 7 end
      if fault ~= "before" then all:sync() end
      operate(s, t)
      if fault ~= "after" then all:sync() end
      if t == who then out[0] = s[0] end
    end
  end,
}

local launches = {
  shared = { grid = 1, block = BLOCK }, global = { grid = 1, block = BLOCK },
  grid = { grid = 3, block = BLOCK, cooperative = true }, warp = { grid = 1, block = 32 },
  named = { grid = 1, block = BLOCK },
}

local function findings(place, f)
  local kinds = {}
  local list, _, ok, message = check.run(function()
    kernel("k", f)(launches[place])(zeros(i32, 1), zeros(i32, 3))
  end)
  assert(ok, message)
  for _, finding in ipairs(list) do kinds[finding.kind] = true end
  local kind = next(kinds)
  return next(kinds, kind) and "several kinds" or kind or "nothing"
end

local wanted = { shared = "race_shared", warp = "race_shared", named = "race_shared",
                 global = "race_global", grid = "race_global" }

-- The first thread, one in the middle, the last one: each hides what a single word would keep.
local function people(place)
  local n = launches[place].grid * launches[place].block
  return { 0, n // 2 + 1, n - 1 }
end

for place, make in pairs(kernels) do
  for name, operate in pairs(operations) do
    local wrong = {}
    for _, who in ipairs(people(place)) do
      for _, fault in ipairs { "none", "before", "after" } do
        local want = fault == "none" and "nothing" or wanted[place]
        local got = findings(place, make(operate, who, fault))
        if got ~= want then
          wrong[#wrong + 1] = ("thread %d, barrier missing: %s: got %s"):format(who, fault, got)
        end
      end
    end
    tap.ok(#wrong == 0, place .. ": " .. name, table.concat(wrong, "\n"))
  end
end
tap.done()
