-- timeline_ranks.lua: what launches of ranks that ran at once did, as the events of one block each,
-- joined so that timeline_play.lua plays them on one axis. Blocks get numbers, as those of a
-- cluster have. A launch begins when the one before it of its rank has ended, as far as they are
-- recorded. What ranks tell each other by flags are arrivals and waits.
local lists = require "cuttle.lists"
local M = {}

-- One event more for each warp of a part, at its beginning or its end.
local function of_warps(part, make)
  local seen, out = {}, {}
  for _, e in ipairs(part.events) do
    local key = e.rank << 16 | e.warp
    if not seen[key] then
      seen[key] = true
      out[#out + 1] = make(e)
    end
  end
  return out
end

local function launch_event(kind, barrier)
  return function(e)
    return { kind = kind, line = e.line, chunk = e.chunk, rank = e.rank, warp = e.warp,
      barrier = barrier, phase = 0 }
  end
end

-- The flags by which a recorded warp tells, by number and count.
local function told_of(parts)
  local told = {}
  for _, part in ipairs(parts) do
    for _, e in ipairs(part.events) do
      if e.kind == "tell" then
        told[e.barrier] = told[e.barrier] or {}
        told[e.barrier][e.phase] = true
      end
    end
  end
  return told
end

-- A flag that nobody recorded has told by is only read.
local function flag_event(e, told)
  if e.kind == "tell" then
    e.kind = "arrive"
  elseif told[e.barrier] and told[e.barrier][e.phase] then
    e.kind = "pass"
  else
    e.kind, e.n, e.global, e.shared = "work", 1, 1, 0
  end
end

-- Moves a part's ranks and barriers behind those that there are. Flags are the first barriers.
local function place(part, ranks, barriers, told)
  for _, e in ipairs(part.events) do
    if e.kind == "tell" or e.kind == "see" then
      flag_event(e, told)
    elseif e.barrier then
      e.barrier = e.barrier + #barriers
    end
    e.rank = e.rank + ranks
  end
  for _, b in ipairs(part.barriers) do
    b.rank = b.rank + ranks
    barriers[#barriers + 1] = b
  end
end

local function cluster_of(part)
  local n = 1
  for _, e in ipairs(part.events) do n = math.max(n, e.rank + 1) end
  for _, b in ipairs(part.barriers) do n = math.max(n, (b.rank or 0) + 1) end
  return n
end

-- Between the launches of a rank: the later one waits for the end of the earlier one.
local function chain(part, before, barriers)
  if not before then return end
  barriers[#barriers + 1] = { kind = "launch", rank = 0 }
  local passes = of_warps(part, launch_event("pass", #barriers))
  part.events = table.move(part.events, 1, #part.events, #passes + 1, passes)
  for _, e in ipairs(of_warps(before, launch_event("arrive", #barriers))) do
    before.events[#before.events + 1] = e
  end
end

--- parts: as _watch.timeline_begin hands them over. Returns events, barriers, and the parts that
--- have events, each with `at`, the number of its block.
function M.join(parts, names)
  local barriers, last, ranks = {}, {}, 0
  local list = lists.filter(parts, function(part) return #part.events > 0 end)
  local told = told_of(list)
  for i, name in ipairs(names) do barriers[i] = { kind = "flag", name = name, rank = 0 } end
  for _, part in ipairs(list) do
    local n = cluster_of(part)
    place(part, ranks, barriers, told)
    part.at, ranks = ranks + part.rank, ranks + n
    chain(part, last[part.launch.rank], barriers)
    last[part.launch.rank] = part
  end
  local events = {}
  for _, part in ipairs(list) do table.move(part.events, 1, #part.events, #events + 1, events) end
  return events, barriers, list
end

return M
