-- engine_cpu.lua: collectives of virtual devices, all in this process: copies and sums of rows on
-- the host. See engine.lua for what an engine is.
--
-- Sums go around a ring. A buffer of n elements has as many chunks as the group has ranks, each of
-- ceil(n / g) elements, the last ones shorter. Chunk c begins with the elements of place c + 1 of
-- the group. Those of places c + 2, c + 3, ... are added to it one after the other, counted modulo
-- g; those of place c come last. Each sum is rounded to the tensors' type.
local internal = ...
local lists = require "cuttle.lists"
local tiles = require "cuttle.tiles"
local M = {}

local copy, combine = internal.mesh.copy, internal.mesh.combine

local function add(dst, src, at, n, reduce)
  if not combine(dst, 0, src, at, n, reduce) then
    tiles.fail("mesh", "elements of %s have no %s; use another type", dst.dtype, reduce)
  end
end

-- Reduces elements `at` to `at + n` of all rows into `sum`, as chunk c of the ring.
local function reduce_chunk(members, c, at, n, sum)
  local g = #members
  copy(sum, 0, members[(c + 1) % g + 1].src, at, n)
  for k = 2, g do add(sum, members[(c + k) % g + 1].src, at, n, members[1].reduce) end
end

local function new_row(like, n)
  return internal.mesh.tensor(like.dtype, n, "cpu", like.rank)
end

-- For each chunk of the members' sources: its number, first element, size and sum.
local function each_chunk(members, fn)
  local g, n = #members, size(members[1].src)
  local chunk = (n + g - 1) // g
  local sum <close> = new_row({ dtype = members[1].src.dtype, rank = -1 }, chunk)
  for c = 0, g - 1 do
    local at = math.min(c * chunk, n)
    local size = math.min(chunk, n - at)
    reduce_chunk(members, c, at, size, sum)
    fn(c, at, size, sum)
  end
end

-- By operation: what happens to the members of one group, which are in its order.
local run = {}

function run.all_reduce(members)
  each_chunk(members, function(_, at, n, sum)
    for _, call in ipairs(members) do copy(call.dst, at, sum, 0, n) end
  end)
end

-- Into rows of its own first: a destination may be a part of a source.
function run.reduce_scatter(members)
  local sums = {}
  each_chunk(members, function(c, _, n, sum)
    sums[c + 1] = new_row({ dtype = sum.dtype, rank = -1 }, n)
    copy(sums[c + 1], 0, sum, 0, n)
  end)
  for i, call in ipairs(members) do
    copy(call.dst, 0, sums[i], 0, size(call.dst))
    sums[i]:close()
  end
end

function run.all_gather(members)
  local n = size(members[1].src)
  for _, to in ipairs(members) do
    for i, from in ipairs(members) do copy(to.dst, (i - 1) * n, from.src, 0, n) end
  end
end

function run.all_to_all(members)
  local n = size(members[1].src) // #members
  for j, to in ipairs(members) do
    for i, from in ipairs(members) do copy(to.dst, (i - 1) * n, from.src, (j - 1) * n, n) end
  end
end

function run.broadcast(members)
  local n, root = size(members[1].dst), nil
  for _, call in ipairs(members) do root = call.rank == call.root and call.dst or root end
  for _, call in ipairs(members) do
    if call.dst ~= root then copy(call.dst, 0, root, 0, n) end
  end
end

function run.barrier() end

-- The groups of the calls, each with its calls in the group's order.
local function groups_of(calls)
  local by_rank, groups = {}, {}
  for _, call in ipairs(calls) do by_rank[call.rank] = call end
  for _, call in ipairs(calls) do
    if call.rank == call.group[1] then
      local members = lists.map(call.group, function(rank) return by_rank[rank] end)
      groups[#groups + 1] = members
    end
  end
  return groups
end

-- Messages by their sender and receiver, in order.
local function queues_of(calls)
  local queues = {}
  for _, call in ipairs(calls) do
    for _, send in ipairs(call.sends) do
      local key = call.rank .. ">" .. send.rank
      queues[key] = queues[key] or { next = 1 }
      table.insert(queues[key], send)
    end
  end
  return queues
end

local function send_recv(calls)
  local queues = queues_of(calls)
  for _, call in ipairs(calls) do
    for _, recv in ipairs(call.recvs) do
      local queue = queues[recv.rank .. ">" .. call.rank]
      local send = queue[queue.next]
      queue.next = queue.next + 1
      copy(recv.row, recv.at, send.row, send.at, recv.n)
    end
  end
end

local methods = {}
local engine_type = { __index = methods }

function methods.device() return "cpu" end

function methods.prepare() end

-- The calls of an operation with rows of their own, which the script may close.
local function kept(calls)
  local out = {}
  local function row(t) return t and (internal.mesh.row(t)) end
  for i, call in ipairs(calls) do
    local own = lists.with(call)
    own.src, own.dst = row(call.src), row(call.dst)
    for _, list in ipairs { "sends", "recvs" } do
      own[list] = call[list] and {}
      for k, message in ipairs(call[list] or {}) do
        own[list][k] = { rank = message.rank, row = row(message.row), at = message.at,
          n = message.n }
      end
    end
    out[i] = own
  end
  return out
end

-- A graph of all ranks does it again. As in a stream, it comes after the launches of its ranks.
local function record(op, calls)
  local again = kept(calls)
  internal.mesh.graph_note(function()
    for _, call in ipairs(again) do
      if internal.mesh.joint_count(call.rank) > 0 then internal.mesh.joint_run() end
    end
    methods.run(nil, op, again)
  end)
end

function methods.run(_, op, calls)
  if internal.launch.graph_recording() then return record(op, calls) end
  if op == "send_recv" then return send_recv(calls) end
  for _, members in ipairs(groups_of(calls)) do run[op](members) end
end

--- The engine of a mesh: all its ranks are in this process.
function M.open(m)
  local ranks = {}
  for rank = 0, m.n - 1 do ranks[rank + 1] = rank end
  return setmetatable({ ranks = ranks }, engine_type)
end

return M
