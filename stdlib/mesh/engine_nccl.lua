-- engine_nccl.lua: collectives between CUDA devices, by NCCL. See engine.lua for what an engine is.
--
-- Without a launcher all ranks are in this process: rank r is the device cuda:r, and a collective
-- is one group of calls. With one (processes.lua) each process is one rank. Communicators are made
-- at the first collective: one of all ranks, and from it, by a split in which all ranks take part,
-- one for each kind of group. All errors, of NCCL and of time, abort all communicators.
local internal = ...
local lists = require "cuttle.lists"
local processes = require "cuttle.processes"
local tiles = require "cuttle.tiles"
local M = {}

-- {====== Worlds: the ranks and their communicators, by the number of ranks ======

local worlds = {}

local function count_devices()
  local n = 0
  for _, name in ipairs(devices()) do n = n + (name:find "^cuda" and 1 or 0) end
  return n
end

local function ranks_here(m, op)
  local n = count_devices()
  if m.n > n then
    tiles.fail(op, "%s has %d ranks, but CUDA has %d devices; a rank is one device", m, m.n, n)
  end
  local w = { ranks = {}, device = {} }
  for rank = 0, m.n - 1 do
    w.ranks[rank + 1] = rank
    w.device[rank] = "cuda:" .. rank
  end
  return w
end

local function rank_of_process(m, p, op)
  if m.n ~= p.size then
    tiles.fail(op, "%s has %d ranks, but %s started %d processes; each process is one rank of a "
      .. "mesh", m, m.n, p.launcher, p.size)
  end
  local device = processes.device(p, count_devices())
  return { ranks = { p.rank }, device = { [p.rank] = device }, address = p.address }
end

-- Whether calls block the host until they are enqueued, which is the faster way. Among the ranks of
-- one process nobody can be missing, so they do. In several processes a call that blocks knows no
-- limit, so they do unless a limit was set: the communicators are then split off one of all ranks,
-- which does not block while ranks join it.
local function set_blocking(w)
  local blocks = processes.blocks()
  if w.address then
    if blocks == nil then blocks = processes.limit() == nil end
    w.splits_all = blocks and select(2, internal.nccl.version())
  else
    w.blocks = blocks ~= false
  end
end

local function new_world(m, op)
  local p = processes.find()
  local w = p and rank_of_process(m, p, op) or ranks_here(m, op)
  w.size, w.seconds, w.sets = m.n, processes.seconds(), {}
  w.found = setmetatable({}, { __mode = "k" })
  set_blocking(w)
  return w
end

-- One that was aborted is not used again.
local function world_of(m, op)
  local w = worlds[m.n]
  if not w or w.all and not w.all.set:is_open() then
    w = new_world(m, op)
    worlds[m.n] = w
  end
  return w
end

-- {====== Communicators ======

-- What messages call a group: by axes of the mesh, if it is one of theirs.
local function same(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function group_title(m, rank, group)
  if #group == m.n then return "all axes" end
  for bits = 1, (1 << #m.axes) - 1 do
    local axes = {}
    for i, axis in ipairs(m.axes) do
      if bits >> (i - 1) & 1 == 1 then axes[#axes + 1] = axis end
    end
    if same(m:group(rank, axes), group) then
      return table.concat(axes, ", ")
    end
  end
  return "ranks " .. table.concat(group, ", ")
end

-- The set of communicators of all ranks: a member for each rank of this process.
local function open_all(w)
  local all = { member = {} }
  local members = {}
  for i, rank in ipairs(w.ranks) do
    members[i] = { device = w.device[rank], rank = rank, world = rank }
    all.member[rank] = i
  end
  all.set = internal.nccl.open { what = ("the first meeting of %d ranks%s"):format(w.size,
    w.address and " at " .. w.address or ""), address = w.address, size = w.size,
    seconds = w.seconds, blocks = w.blocks, members = members }
  w.all = all
  return all
end

local function is_identity(w, group)
  if #group ~= w.size then return false end
  for i, rank in ipairs(group) do
    if rank ~= i - 1 then return false end
  end
  return true
end

-- Groups of one call to run do not overlap, so the least rank of each is its color.
local function split(w, calls, title)
  local all, parts = w.all or open_all(w), {}
  for _, call in ipairs(calls) do
    parts[all.member[call.rank]] = { color = math.min(table.unpack(call.group)),
      key = lists.index(call.group, call.rank) - 1, size = #call.group }
  end
  local set = internal.nccl.split(all.set, "the communicators over " .. title, w.seconds, parts,
    w.blocks or w.splits_all)
  for _, call in ipairs(calls) do
    w.sets[call.rank .. ":" .. table.concat(call.group, ",")] =
      { set = set, member = all.member[call.rank] }
  end
end

-- A group by itself, whose ranks are all in this process.
local function open_group(w, group, title)
  local members = {}
  for i, rank in ipairs(group) do
    members[i] = { device = w.device[rank], rank = i - 1, world = rank }
  end
  local set = internal.nccl.open { what = "the communicators over " .. title, size = #group,
    seconds = w.seconds, blocks = w.blocks, members = members }
  for i, rank in ipairs(group) do
    w.sets[rank .. ":" .. table.concat(group, ",")] = { set = set, member = i }
  end
end

local function make_sets(w, calls, title)
  local _, can_split = internal.nccl.version()
  if w.address or can_split and #calls == w.size then return split(w, calls, title) end
  for _, call in ipairs(calls) do
    if call.rank == call.group[1] then open_group(w, call.group, title) end
  end
end

-- The set and the member of a call, if they were made. In several processes the set of all ranks
-- never blocks, as it is made while ranks may be missing.
local function look_up(w, call)
  if is_identity(w, call.group) and not w.splits_all then
    if not w.all and internal.launch.graph_recording() then return nil end
    local all = w.all or open_all(w)
    return { set = all.set, member = all.member[call.rank] }
  end
  return w.sets[call.rank .. ":" .. table.concat(call.group, ",")]
end

-- The same: {set =, member =} or nil. Callers keep the lists of their groups, so those found are
-- kept by the list itself, then by rank.
local function find_comm(w, call)
  local by_rank = w.found[call.group] or {}
  local comm = by_rank[call.rank]
  if comm and comm.set:is_open() then return comm end
  w.found[call.group] = by_rank
  by_rank[call.rank] = look_up(w, call)
  return by_rank[call.rank]
end

-- {====== Operations ======

-- Elements of one rank's part, by operation.
local count_of = {
  all_reduce = function(call) return size(call.dst) end,
  reduce_scatter = function(call) return size(call.dst) end,
  all_gather = function(call) return size(call.src) end,
  all_to_all = function(call) return size(call.src) // #call.group end,
  broadcast = function(call) return size(call.dst) end,
}

local function copy_alone(call)
  if call.src and not rawequal(call.src, call.dst) then
    internal.mesh.copy(call.dst, 0, call.src, 0, size(call.dst))
  end
end

-- Calls of m:run say where the script made them, and over which axes.
local function place_of(calls)
  return calls[1].place or internal.host.script_place() or "?"
end

local function title_of(e, call)
  return call.where or group_title(e.mesh, call.rank, call.group)
end

local methods = {}
local engine_type = { __index = methods }

function methods.device(e, rank) return e.world.device[rank] end

--- Waits until all that was enqueued is done; raises where it is not in time.
function methods.wait() internal.nccl.wait() end

-- Communicators cannot be made while a graph is recorded.
local function check_made(is_made, op, title)
  if not is_made and internal.launch.graph_recording() then
    tiles.fail(op, "a graph is recorded, and the communicators over %s are made by the first "
      .. "collective over them; call %s once before graph(...)", title, op)
  end
end

-- A copy is made in the device's own stream.
local function is_alone(e, call)
  return #call.group == 1 and not e.alone and call.stream == nil
end

-- The communicator of each call of a group with several ranks.
local function make_comms(e, op, calls)
  for _, call in ipairs(calls) do
    if not find_comm(e.world, call) then
      check_made(false, op, title_of(e, call))
      make_sets(e.world, calls, title_of(e, call))
    end
  end
end

-- What the calls have in common in all runs: for those of groups with several ranks, what NCCL is
-- told of them except for the rows; the numbers of the others; and how the messages begin.
local function describe(e, op, calls)
  local w, known, rest, at = e.world, { made = {}, alone = {} }, {}, {}
  for i, call in ipairs(calls) do
    if is_alone(e, call) then
      table.insert(known.alone, i)
    else
      rest[#rest + 1], at[#at + 1] = call, i
    end
  end
  make_comms(e, op, rest)
  for i, call in ipairs(rest) do
    local comm = find_comm(w, call)
    known.made[i] = { set = comm.set, member = comm.member, op = op, reduce = call.reduce,
      count = count_of[op](call), at = at[i],
      peer = op == "broadcast" and lists.index(call.group, call.root) - 1 or nil }
  end
  if rest[1] then
    known.what = ("%s of %d %s over %s, "):format(op, known.made[1].count, rest[1].dst.dtype,
      title_of(e, rest[1]))
  end
  return known
end

-- The calls with their rows.
local function with_rows(known, op, calls)
  for _, made in ipairs(known.made) do
    local call = calls[made.at]
    made.src, made.dst = op == "broadcast" and call.dst or call.src, call.dst
    made.stream = call.stream
  end
  return known.made
end

-- A graph records the calls. Its launches are watched: for each communicator, by the first call.
local function note_recorded(e, what, made)
  local recording = internal.launch.graph_recording()
  if not recording then return end
  local key = ("%p %d"):format(made[1].set, made[1].member)
  if recording[key] then return internal.mesh.graph_note() end
  recording[key] = made[1].set
  local text, call, seconds = "a graph with " .. what, made[1], e.world.seconds
  internal.mesh.graph_note(function(is_before)
    internal.nccl.watch(call, text, seconds, is_before)
  end)
end

local function run_made(e, what, made)
  internal.nccl.run(what, e.world.seconds, made)
  note_recorded(e, what, made)
end

-- What is known of the calls, if their communicators are still open.
local function recall(memo)
  local known = memo and memo.known
  return known and (not known.made[1] or known.made[1].set:is_open()) and known
end

local function run_once(e, op, calls)
  local known = describe(e, op, calls)
  for _, i in ipairs(known.alone) do copy_alone(calls[i]) end
  if known.what then
    run_made(e, known.what .. place_of(calls), with_rows(known, op, calls))
  end
end

local function run_collective(e, op, calls, memo)
  if not memo then return run_once(e, op, calls) end
  local known = recall(memo)
  if not known then
    known = describe(e, op, calls)
    known.group = known.what and internal.nccl.prepare(known.made)
    memo.known = known
  end
  for _, i in ipairs(known.alone) do copy_alone(calls[i]) end
  if not known.what then return end
  internal.nccl.again(known.group, known.what, e.world.seconds, calls[1].place, calls)
  if internal.launch.graph_recording() then
    note_recorded(e, known.what .. place_of(calls), known.made)
  end
end

-- Messages between two ranks are in order; those of one call to run go together.
local function send_recv(e, calls)
  local w, made = e.world, {}
  check_made(w.all ~= nil, "send_recv", "all axes")
  local all = w.all or open_all(w)
  local function add(op, call, message)
    made[#made + 1] = { set = all.set, member = all.member[call.rank], op = op, peer = message.rank,
      count = message.n, [op == "send" and "src" or "dst"] = message.row,
      [op == "send" and "src_at" or "dst_at"] = message.at }
  end
  for _, call in ipairs(calls) do
    for _, message in ipairs(call.sends or {}) do add("send", call, message) end
    for _, message in ipairs(call.recvs or {}) do add("recv", call, message) end
  end
  if #made > 0 then
    run_made(e, ("send_recv of %d messages, %s"):format(#made, place_of(calls)), made)
  end
end

-- The maximum of one element of each rank, which the host waits for. NCCL reads narrow elements by
-- words of 4 bytes. If memory ends within a word, compute-sanitizer reports it and ends the kernel,
-- so the element is an i32, and `exchange` sends texts of a multiple of 4 bytes.
local function barrier(e, calls)
  local sums = {}
  for i, call in ipairs(calls) do
    local row = internal.mesh.tensor(i32, 1, e.world.device[call.rank], call.rank)
    sums[i] = { rank = call.rank, group = call.group, src = row, dst = row, reduce = "max",
      place = call.place, where = call.where }
  end
  run_collective(e, "all_reduce", sums)
  if not internal.launch.graph_recording() then internal.nccl.wait() end
end

local function text_of(bytes, first, n)
  return string.char(table.unpack(bytes, first, first + n - 1))
end

-- The texts, of the same length on all ranks, go through the memory of the devices.
function methods.exchange(e, call, text)
  local length, device = #text, e.world.device[call.rank]
  local padded = text .. ("\0"):rep(-length % 4)
  local n = #padded
  local own <close> = from_table(u8, { padded:byte(1, n) })
  local src <close> = internal.mesh.tensor(u8, n, device, call.rank)
  local dst <close> = internal.mesh.tensor(u8, n * #call.group, device, call.rank)
  internal.mesh.copy(src, 0, own, 0, n)
  run_collective(e, "all_gather", { { rank = call.rank, group = call.group, src = src, dst = dst,
    place = call.place, where = call.where } })
  local bytes, texts = dst:totable(), {}
  for i, rank in ipairs(call.group) do texts[rank] = text_of(bytes, (i - 1) * n + 1, length) end
  return texts
end

function methods.prepare(e, op, calls)
  if op == "send_recv" then
    check_made(e.world.all ~= nil, op, "all axes")
    e.world.all = e.world.all or open_all(e.world)
    return
  end
  make_comms(e, op, lists.filter(calls, function(call) return not is_alone(e, call) end))
end

function methods.run(e, op, calls, memo)
  if #calls == 0 then return end
  if op == "send_recv" then return send_recv(e, calls) end
  if op == "barrier" then return barrier(e, calls) end
  return run_collective(e, op, calls, memo)
end

--- Closes the communicators of all meshes with so many ranks; the next collective makes new ones.
function methods.close(e)
  local w = e.world
  for _, known in pairs(w.sets) do known.set:close() end
  if w.all then w.all.set:close() end
  w.sets, w.all = {}, nil
  w.found = setmetatable({}, { __mode = "k" })
end

--- Group `calls` of one operation, n times, without any watch, as a program with NCCL alone would;
-- for measurements.
function methods.bare(e, op, calls, n)
  internal.nccl.bare(with_rows(describe(e, op, calls), op, calls), n)
end

--- The engine of a mesh. options, for tests and measurements: alone, groups of one rank go through
-- NCCL, too; blocks, whether calls block the host, in communicators of their own.
function M.open(m, op, options)
  options = options or {}
  local w = options.blocks ~= nil and new_world(m, op) or world_of(m, op)
  if options.blocks ~= nil then w.blocks = options.blocks end
  return setmetatable({ mesh = m, world = w, ranks = w.ranks, alone = options.alone }, engine_type)
end

return M
