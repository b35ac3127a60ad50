-- meet.lua: the devices of a mesh wait for each other, in one process: what each is given from now
-- on comes after what all were given so far. Outside of graphs events do that. In a graph it is a
-- kernel of each rank: it tells the others how often it has been launched, and waits until they
-- have been launched as often. That number lives in memory, as a graph keeps its arguments, and it
-- is never reset, as launches of ranks follow each other without order.
local internal = ...
local M = {}

local SYS <const> = { scope = "sys" }
local known = setmetatable({}, { __mode = "k" }) -- by engine: what the kernels take, by rank

-- counts: of each rank, how often the others came; turns: how often this one did.
local wait = kernel("meet", function(counts, turns, me)
  local i = threadIdx.x
  local turn = turns[0] + 1
  sync_threads()
  if i < #counts then
    atomic_store(counts[i + 1], me, turn, SYS)
    while cast(atomic_load(counts[me + 1], i, SYS) - turn, i32) < 0 do end
  end
  if i == 0 then turns[0] = turn end
end)

local function make(C)
  local counts, turns, given = {}, {}, {}
  local zeros = {}
  for i = 1, C.mesh.n do zeros[i] = 0 end
  for _, rank in ipairs(C.engine.ranks) do
    local device = C.engine:device(rank)
    counts[rank] = internal.launch.table_on(u32, zeros, nil, device)
    turns[rank] = internal.launch.table_on(u32, { 0 }, nil, device)
  end
  return { counts = counts, turns = turns, given = given }
end

-- What the kernel of a rank takes: its peers' counts are found where its device is the current one.
local function given_to(memory, rank, n)
  local list = memory.given[rank] or {}
  memory.given[rank] = list
  for other = 0, n - 1 do
    list[other + 1] = list[other + 1] or (other == rank and memory.counts[rank]
      or internal.mesh.peer(memory.counts[other]))
  end
  return list
end

--- Launches the kernel for each rank. C: a sharded tensor; each_rank(C, f) calls f(rank) for each.
function M.launch(C, each_rank)
  local memory = known[C.engine] or make(C)
  known[C.engine] = memory
  each_rank(C, function(rank)
    wait{ grid = 1, block = math.max(32, C.mesh.n) }(given_to(memory, rank, C.mesh.n),
      memory.turns[rank], u32(rank))
  end)
end

--- The devices of C's ranks wait for each other. On the CPU engine all is in order.
function M.meet(C, each_rank)
  if internal.launch.graph_recording() and device().sm then return M.launch(C, each_rank) end
  local list = {}
  for _, row in pairs(C.rows) do list[#list + 1] = row end
  internal.mesh.meet(list)
end

return M
