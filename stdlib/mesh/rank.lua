-- rank.lua: the object r that m:run gives to its function: one rank, whose methods are collectives.
-- Each checks its arguments and yields a request to the scheduler (ranks.lua), which resumes the
-- rank when the call is done.
--   request   a call that waits: op, rank, place (script line), group, and
--             of collectives: key (the group as text), where (axes as text), first and second (the
--             tensors), src and dst (as rows), reduce, root, stream
--             of messages: send, recv: {rank =, row =, at =, n =, dtype =, shape =}
local internal = ...
local ipc = require "cuttle.ipc"
local lists = require "cuttle.lists"
local meshes = require "cuttle.mesh_type"
local option_names = require "cuttle.option_names"
local tiles = require "cuttle.tiles"
local coroutine = coroutine
local M = {}

local methods = {}
local rank_type = tiles.new_type("rank", methods, { "rank", "coord", "mesh" })
local request_type = {}
local runs = setmetatable({}, { __mode = "k" }) -- by rank object: the run that it belongs to

-- {====== Tensors of a call ======

local function check_tensor(t, number, op)
  local why = tiles.type_name(t) ~= "tensor" and "is of type " .. tiles.type_name(t)
  if not why then
    local address, closed = internal.launch.address(t)
    why = closed or (address == nil and "is a tensor of a kernel")
  end
  if why then
    local is_sharded = tiles.type_name(t) == "sharded tensor"
    tiles.fail(op, "argument %d %s; %s", number, why, is_sharded and "use the part of the rank, "
      .. "x:part(r.rank)" or "a tensor was expected")
  end
end

-- The elements of a tensor that lie in one row of memory, in any order.
local function row_of(t, number, op)
  check_tensor(t, number, op)
  local row, owner = internal.mesh.row(t)
  if owner >= 0 and owner ~= internal.launch.rank() then
    tiles.fail(op, "argument %d is a part of rank %d, but rank %d uses it; in m:run a rank uses "
      .. "its own part, x:part(r.rank)", number, owner, internal.launch.rank())
  elseif not row then
    tiles.fail(op, "argument %d has the layout %s, which leaves gaps or repeats elements; copy it "
      .. "into a compact tensor first", number, t.layout)
  end
  return row
end

local function overlaps(a, b)
  local bytes = a.dtype.bytes
  local first, second = internal.launch.address(a), internal.launch.address(b)
  return a.device == b.device and first < second + size(b) * bytes
    and second < first + size(a) * bytes
end

local function check_pair(op, src, dst, wanted, relation)
  if src.dtype ~= dst.dtype then
    tiles.fail(op, "the source has elements %s, the destination %s; expected the same type",
      src.dtype, dst.dtype)
  elseif size(dst) ~= wanted then
    tiles.fail(op, "the destination has %d elements, the source %d; expected %s = %s", size(dst),
      size(src), relation, math.type(wanted) == "integer" and wanted or "a whole number")
  end
end

local function check_apart(op, src, dst)
  if overlaps(src, dst) then
    tiles.fail(op, "source and destination share memory; use two tensors")
  end
end

local reductions = { sum = true, max = true, min = true }

local function check_reduce(op, reduce, dtype)
  reduce = reduce or "sum"
  if not reductions[reduce] then
    tiles.fail(op, 'the reduction is %s; expected "sum", "max" or "min"', tostring(reduce))
  elseif reduce == "sum" and dtype == bool then
    tiles.fail(op, 'elements of bool have no sum; take "max" for "or", "min" for "and"')
  end
  return reduce
end

-- {====== Calls ======

-- That the call is one of the rank whose function runs, in its own coroutine.
local function check_running(r, op)
  local run = runs[r]
  if not run or not run.tasks[r.rank] or run.is_over then
    tiles.fail(op, "m:run of this rank has ended; call it inside the function")
  elseif internal.launch.rank() ~= r.rank then
    tiles.fail(op, "rank %s calls it with the object of rank %d; use the function's own argument",
      internal.launch.rank() or "(none)", r.rank)
  elseif coroutine.running() ~= run.tasks[r.rank].co then
    tiles.fail(op, "rank %d calls it inside a coroutine of the script, where a rank cannot wait; "
      .. "call it in the function of m:run itself", r.rank)
  elseif not coroutine.isyieldable()
    and (select(2, internal.launch.graph_recording()) or -1) < 0 then
    tiles.fail(op, "rank %d calls it in a function that C calls, such as that of bench or sort, "
      .. "where a rank cannot wait; call it outside", r.rank)
  end
  return run
end

-- A call of a graph that is launched: the request again, in the run of now. Its line is the one
-- that was recorded.
local function replay(q)
  local run, rank = M.running, internal.launch.rank()
  if not run or not rank then
    tiles.fail("graph", "it has %s, %s, which needs the other ranks; launch it in "
      .. "m:run(function(r) ... end)", q.op, q.place)
  elseif run.mesh ~= q.mesh or rank ~= q.rank then
    tiles.fail("graph", "rank %d of %s recorded %s, %s, but rank %d of %s launches it; each rank "
      .. "records a graph of its own", q.rank, q.mesh, q.op, q.place, rank, run.mesh)
  elseif coroutine.running() ~= run.tasks[rank].co or not coroutine.isyieldable() then
    tiles.fail("graph", "it has %s, %s, where rank %d cannot wait; launch it in the function of "
      .. "m:run itself, outside of coroutines and of functions that C calls", q.op, q.place, rank)
  end
  coroutine.yield(setmetatable(lists.with(q), request_type))
end

-- On a device the engine enqueues the call, and the driver records it.
local function enqueue(run, q)
  if #run.engine.ranks > 1 and #(q.group or run.engine.ranks) > 1 then
    tiles.fail(q.op, "a graph is recorded by one of %d ranks of this process, but NCCL needs the "
      .. "calls of all of them at once; record all ranks: graph(function() m:run(...) end)",
      #run.engine.ranks)
  end
  if not q.is_message then return run.engine:run(q.op, { q }) end
  run.engine:run("send_recv", { { rank = q.rank, group = q.mesh:group(0), sends = { q.send },
    recvs = { q.recv }, place = q.place } })
end

local function record(run, q)
  if run.engine:device(q.rank) ~= "cpu" then return enqueue(run, q) end
  internal.mesh.graph_note(function() replay(q) end)
end

local function wait(run, request)
  request.place = internal.host.script_place() or "?"
  local recording, rank = internal.launch.graph_recording()
  if recording and request.op == "peers" then
    tiles.fail("peers", "the ranks exchange tensors on the host, which a graph cannot record; call "
      .. "it before graph(...)")
  elseif recording and rank >= 0 then
    return record(run, request)
  end
  coroutine.yield(setmetatable(request, request_type))
end

local function group_text(group)
  local sorted = table.move(group, 1, #group, 1, {})
  table.sort(sorted)
  return table.concat(sorted, ",")
end

-- A rank's group over axes: {ranks =, key =, where =}, kept for each name of an axis.
local function group_of(run, r, axes, op)
  local groups = run.tasks[r.rank].groups
  local known = type(axes) ~= "table" and groups[axes or true]
  if known then return known end
  local list = meshes.axis_list(r.mesh, axes, op)
  local ranks = r.mesh:group(r.rank, list)
  local group = { ranks = ranks, key = group_text(ranks),
    where = axes == nil and "all axes" or table.concat(list, ", ") }
  if type(axes) ~= "table" then groups[axes or true] = group end
  return group
end

-- A collective over axes; the other fields are added by the caller.
local function collective(r, op, axes)
  local group = group_of(check_running(r, op), r, axes, op)
  return { op = op, rank = r.rank, group = group.ranks, key = group.key, mesh = r.mesh,
    where = group.where }
end

local function pair(request, src, dst)
  request.src, request.dst = row_of(src, 1, request.op), row_of(dst, 2, request.op)
  request.first, request.second = src, dst
  return request.src, request.dst, #request.group
end

-- Of one tensor, which is source and destination.
local function alone(request, t)
  request.src = row_of(t, 1, request.op)
  request.dst, request.first = request.src, t
end

-- What the driver calls the stream of the option; nil on the CPU engine, where calls are over when
-- they return.
local function stream_of(run, q, stream)
  if stream == nil then return nil end
  if tiles.type_name(stream) ~= "stream" then
    tiles.fail(q.op, "the option stream is of type %s; expected what stream() makes",
      tiles.type_name(stream))
  end
  local handle, device = internal.launch.stream_handle(stream)
  local own = run.engine:device(q.rank)
  if device ~= own then
    tiles.fail(q.op, "the stream belongs to %s, but rank %d is %s; make it in the function of "
      .. "m:run, where the rank's device is the current one", device, q.rank, own)
  end
  return handle
end

-- The last argument of a collective: the value of the option `word`, or a table of that and stream.
local function take_options(r, q, last, word)
  if type(last) ~= "table" then return last end
  option_names.check(q.op, last, { word, "stream" })
  q.stream = stream_of(runs[r], q, last.stream)
  return last[word]
end

-- The same where stream is the only option.
local function take_stream(r, q, options)
  options = option_names.check(q.op, options, { "stream" }, "{stream = s}")
  q.stream = stream_of(runs[r], q, options.stream)
end

--- r:all_reduce(t, axis, reduce): t becomes the sum of the group's.
function methods.all_reduce(r, t, axis, reduce)
  local q = collective(r, "all_reduce", axis)
  alone(q, t)
  q.reduce = check_reduce(q.op, take_options(r, q, reduce, "reduce"), t.dtype)
  wait(runs[r], q)
end

--- r:all_gather(src, dst, axis, options): dst gets the group's sources one after the other.
function methods.all_gather(r, src, dst, axis, options)
  local q = collective(r, "all_gather", axis)
  local a, b, g = pair(q, src, dst)
  check_pair(q.op, a, b, size(a) * g, ("%d * %d"):format(g, size(a)))
  take_stream(r, q, options)
  wait(runs[r], q)
end

--- r:reduce_scatter(src, dst, axis, reduce): dst gets its part of the sum of the sources.
function methods.reduce_scatter(r, src, dst, axis, reduce)
  local q = collective(r, "reduce_scatter", axis)
  local a, b, g = pair(q, src, dst)
  check_pair(q.op, a, b, size(a) % g == 0 and size(a) // g or size(a) / g,
    ("%d / %d"):format(size(a), g))
  check_apart(q.op, a, b)
  q.reduce = check_reduce(q.op, take_options(r, q, reduce, "reduce"), src.dtype)
  wait(runs[r], q)
end

--- r:all_to_all(src, dst, axis, options): part i of src goes to rank i of the group.
function methods.all_to_all(r, src, dst, axis, options)
  local q = collective(r, "all_to_all", axis)
  local a, b, g = pair(q, src, dst)
  check_pair(q.op, a, b, size(a), "that of the source")
  if size(a) % g ~= 0 then
    tiles.fail(q.op, "the tensors have %d elements, which the %d ranks of the group cannot "
      .. "share equally; pad them", size(a), g)
  end
  check_apart(q.op, a, b)
  take_stream(r, q, options)
  wait(runs[r], q)
end

--- r:broadcast(t, axis, root): t becomes that of the rank whose place in the group is `root`.
function methods.broadcast(r, t, axis, root)
  local q = collective(r, "broadcast", axis)
  root = take_options(r, q, root, "root")
  local place = math.tointeger(root or 0)
  if not place or place < 0 or place >= #q.group then
    tiles.fail(q.op, "the root is %s; its place in the group was expected, 0 to %d",
      tostring(root), #q.group - 1)
  end
  alone(q, t)
  q.root = q.group[place + 1]
  wait(runs[r], q)
end

--- r:barrier(axis): waits until all ranks of the group have come.
function methods.barrier(r, axis)
  wait(runs[r], collective(r, "barrier", axis))
end

--- r:peers(t, axis): the tensors t of the group, by rank, as kernels of this rank use them.
function methods.peers(r, t, axis)
  local q = collective(r, "peers", axis)
  check_tensor(t, 1, q.op)
  q.first = t
  wait(runs[r], q)
  local peers = {}
  for rank, tensor in pairs(q.tensors) do
    peers[rank] = rank == r.rank and t or internal.mesh.peer(tensor)
  end
  for rank, ticket in pairs(q.tickets or {}) do
    peers[rank] = peers[rank] or ipc.open(ticket, t, rank, q.op)
  end
  return peers
end

-- One end of a message.
local function message(r, t, number, other, op, word)
  local rank = math.tointeger(other)
  if not rank or rank < 0 or rank >= r.mesh.n or rank == r.rank then
    tiles.fail(op, "argument %d, %s, is %s; a rank of %s was expected, and not rank %d itself",
      number + 1, word, tostring(other), r.mesh, r.rank)
  end
  local row = row_of(t, number, op)
  return { rank = rank, row = row, at = 0, n = size(row), dtype = t.dtype,
    shape = tostring(t.shape) }
end

local function new_message(r, op)
  check_running(r, op)
  return { op = op, rank = r.rank, mesh = r.mesh, is_message = true }
end

--- r:send(t, to): waits until that rank receives it.
function methods.send(r, t, to)
  local q = new_message(r, "send")
  q.send = message(r, t, 1, to, q.op, "the receiver")
  wait(runs[r], q)
end

--- r:recv(t, from)
function methods.recv(r, t, from)
  local q = new_message(r, "recv")
  q.recv = message(r, t, 1, from, q.op, "the sender")
  wait(runs[r], q)
end

--- r:send_recv(src, to, dst, from): both at once, as a ring needs it.
function methods.send_recv(r, src, to, dst, from)
  local q = new_message(r, "send_recv")
  q.send = message(r, src, 1, to, q.op, "the receiver")
  q.recv = message(r, dst, 3, from, q.op, "the sender")
  check_apart(q.op, q.send.row, q.recv.row)
  wait(runs[r], q)
end

function rank_type.__tostring(r) return ("rank %d of %s"):format(r.rank, r.mesh) end

-- {====== For the scheduler ======

--- The object of a rank in a run.
function M.new(run, rank)
  local r = setmetatable({ rank = rank, coord = run.mesh:coord(rank), mesh = run.mesh }, rank_type)
  runs[r] = run
  return r
end

--- The run whose ranks run now.
M.running = nil

function M.is_request(x) return getmetatable(x) == request_type end

return M
