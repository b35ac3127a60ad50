-- ranks.lua: m:run(fn): fn once for each rank of this process, as coroutines. A rank runs until it
-- calls a collective, which waits. When all ranks of its group that are here have called theirs,
-- the engine runs it, and they go on. So what ranks do wrong is seen at once: different calls, and
-- waits that nobody ends.
-- On the CPU engine launches of ranks are gathered (launch_joint.h). They run at once when all
-- ranks wait and no collective can run without them.
--   request   a call that waits: op, rank, place (script line), group, and
--             of collectives: key (the group as text), where (axes as text), first and second (the
--             tensors), src and dst (as rows), reduce, root
--             of messages: send, recv: {rank =, row =, at =, n =, dtype =, shape =}
local internal = ...
local ct = require "cuttle"
local engines = require "cuttle.engine"
local meshes = require "cuttle.mesh"
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
    local address, closed = internal.address(t)
    why = closed or (address == nil and "is a tensor of a kernel")
  end
  if why then
    local is_sharded = tiles.type_name(t) == "sharded tensor"
    tiles.fail(op, "argument %d %s; %s", number, why, is_sharded and "take the part of the rank, "
      .. "x:part(r.rank)" or "a tensor was expected")
  end
end

-- The elements of a tensor that lie in one row of memory, in any order.
local function row_of(t, number, op)
  check_tensor(t, number, op)
  local row, owner = internal.mesh_row(t)
  if owner >= 0 and owner ~= internal.rank() then
    tiles.fail(op, "argument %d is a part of rank %d, but rank %d uses it; in m:run a rank uses "
      .. "its own part, x:part(r.rank)", number, owner, internal.rank())
  elseif not row then
    tiles.fail(op, "argument %d has the layout %s, which leaves gaps or repeats elements; copy it "
      .. "into a compact tensor first", number, t.layout)
  end
  return row
end

local function overlaps(a, b)
  local bytes = a.dtype.bytes
  local first, second = internal.address(a), internal.address(b)
  return a.device == b.device and first < second + ct.size(b) * bytes
    and second < first + ct.size(a) * bytes
end

local function check_pair(op, src, dst, wanted, relation)
  if src.dtype ~= dst.dtype then
    tiles.fail(op, "the source has elements %s, the destination %s; expected the same type",
      src.dtype, dst.dtype)
  elseif ct.size(dst) ~= wanted then
    tiles.fail(op, "the destination has %d elements, the source %d; expected %s = %s", ct.size(dst),
      ct.size(src), relation, math.type(wanted) == "integer" and wanted or "a whole number")
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
  elseif reduce == "sum" and dtype == ct.bool then
    tiles.fail(op, 'elements of bool have no sum; take "max" for "or", "min" for "and"')
  end
  return reduce
end

-- {====== Calls ======

-- That the call is one of the rank whose function runs, in its own coroutine.
local function check_running(r, op)
  local run = runs[r]
  if getmetatable(r) ~= rank_type then
    tiles.fail(op, "argument 1 is of type %s; a rank was expected: write r:%s(...)",
      tiles.type_name(r), op)
  elseif not run or not run.tasks[r.rank] or run.is_over then
    tiles.fail(op, "m:run of this rank has ended; call it inside the function")
  elseif internal.rank() ~= r.rank then
    tiles.fail(op, "rank %s calls it by the object of rank %d; use the function's own argument",
      internal.rank() or "(none)", r.rank)
  elseif coroutine.running() ~= run.tasks[r.rank].co then
    tiles.fail(op, "rank %d calls it inside a coroutine of the script, where a rank cannot wait; "
      .. "call it in the function of m:run itself", r.rank)
  elseif not coroutine.isyieldable() then
    tiles.fail(op, "rank %d calls it in a function that C calls, such as that of bench or sort, "
      .. "where a rank cannot wait; call it outside", r.rank)
  end
  return run
end

local function wait(request)
  request.place = internal.script_place() or "?"
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

--- r:all_reduce(t, axis, reduce): t becomes the sum of the group's.
function methods.all_reduce(r, t, axis, reduce)
  local q = collective(r, "all_reduce", axis)
  alone(q, t)
  q.reduce = check_reduce(q.op, reduce, t.dtype)
  wait(q)
end

--- r:all_gather(src, dst, axis): dst gets the group's sources one after the other.
function methods.all_gather(r, src, dst, axis)
  local q = collective(r, "all_gather", axis)
  local a, b, g = pair(q, src, dst)
  check_pair(q.op, a, b, ct.size(a) * g, ("%d * %d"):format(g, ct.size(a)))
  wait(q)
end

--- r:reduce_scatter(src, dst, axis, reduce): dst gets its part of the sum of the sources.
function methods.reduce_scatter(r, src, dst, axis, reduce)
  local q = collective(r, "reduce_scatter", axis)
  local a, b, g = pair(q, src, dst)
  check_pair(q.op, a, b, ct.size(a) % g == 0 and ct.size(a) // g or ct.size(a) / g,
    ("%d / %d"):format(ct.size(a), g))
  check_apart(q.op, a, b)
  q.reduce = check_reduce(q.op, reduce, src.dtype)
  wait(q)
end

--- r:all_to_all(src, dst, axis): part i of src goes to rank i of the group.
function methods.all_to_all(r, src, dst, axis)
  local q = collective(r, "all_to_all", axis)
  local a, b, g = pair(q, src, dst)
  check_pair(q.op, a, b, ct.size(a), "that of the source")
  if ct.size(a) % g ~= 0 then
    tiles.fail(q.op, "the tensors have %d elements, no multiple of the %d ranks of the group; pad "
      .. "them", ct.size(a), g)
  end
  check_apart(q.op, a, b)
  wait(q)
end

--- r:broadcast(t, axis, root): t becomes that of the rank whose place in the group is `root`.
function methods.broadcast(r, t, axis, root)
  local q = collective(r, "broadcast", axis)
  local place = math.tointeger(root or 0)
  if not place or place < 0 or place >= #q.group then
    tiles.fail(q.op, "the root is %s; its place in the group was expected, 0 to %d",
      tostring(root), #q.group - 1)
  end
  alone(q, t)
  q.root = q.group[place + 1]
  wait(q)
end

--- r:barrier(axis): waits until all ranks of the group have come.
function methods.barrier(r, axis)
  wait(collective(r, "barrier", axis))
end

--- r:peers(t, axis): the tensors t of the group, by rank, as kernels of this rank use them.
function methods.peers(r, t, axis)
  local q = collective(r, "peers", axis)
  for _, rank in ipairs(q.group) do
    if not runs[r].tasks[rank] then
      tiles.fail(q.op, "rank %d belongs to another process, whose memory kernels of this one do "
        .. "not reach; let one process have all devices, or use collectives", rank)
    end
  end
  check_tensor(t, 1, q.op)
  q.first = t
  wait(q)
  local peers = {}
  for rank, tensor in pairs(q.tensors) do
    peers[rank] = rank == r.rank and t or internal.mesh_peer(tensor)
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
  return { rank = rank, row = row, at = 0, n = ct.size(row), dtype = t.dtype,
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
  wait(q)
end

--- r:recv(t, from)
function methods.recv(r, t, from)
  local q = new_message(r, "recv")
  q.recv = message(r, t, 1, from, q.op, "the sender")
  wait(q)
end

--- r:send_recv(src, to, dst, from): both at once, as a ring needs it.
function methods.send_recv(r, src, to, dst, from)
  local q = new_message(r, "send_recv")
  q.send = message(r, src, 1, to, q.op, "the receiver")
  q.recv = message(r, dst, 3, from, q.op, "the sender")
  check_apart(q.op, q.send.row, q.recv.row)
  wait(q)
end

function rank_type.__tostring(r) return ("rank %d of %s"):format(r.rank, r.mesh) end

-- {====== The text of a request ======

local function describe(q)
  local parts = {}
  if q.send then parts[1] = "send to rank " .. q.send.rank end
  if q.recv then parts[#parts + 1] = "recv from rank " .. q.recv.rank end
  if #parts > 0 then return table.concat(parts, " with ") end
  return ("%s over %s"):format(q.op, q.where)
end

-- An error at the line of a request.
local function fail_at(q, format, ...)
  error(("%s: %s"):format(q.place, format:format(...)), 0)
end

-- {====== Matching collectives ======

-- A field of a call's tensors as a text.
local function both(q, field)
  if not q.first then return nil end
  local first, second = q.first[field], q.second and q.second[field]
  return second and ("%s and %s"):format(first, second) or tostring(first)
end

-- What two calls of a group must have in common, by the words of messages; the value of a call.
local common <const> = {
  { "the operations", function(q) return q.op end },
  { "the axes", function(q) return q.where end },
  { "the element types", function(q) return q.first and tostring(q.first.dtype) end },
  { "the shapes", function(q) return both(q, "shape") end },
  { "the layouts", function(q) return both(q, "layout") end },
  { "the reductions", function(q) return q.reduce end },
  { "the roots", function(q) return q.root and "rank " .. q.root end },
}

local function same_tensors(a, b)
  if not a or not b then return a == b end
  return a.dtype == b.dtype and a.layout == b.layout
end

-- The same as `common`, without texts.
local function is_alike(a, b)
  return a.op == b.op and a.where == b.where and a.reduce == b.reduce and a.root == b.root
    and same_tensors(a.first, b.first) and same_tensors(a.second, b.second)
end

-- That call b fits call a, which came first.
local function check_alike(a, b)
  if is_alike(a, b) then return end
  for _, row in ipairs(common) do
    local x, y = row[2](a), row[2](b)
    if x ~= y then
      fail_at(b, "%s: rank %d calls %s, but rank %d calls %s at %s; %s differ: %s and %s\n"
        .. "  all ranks of a group make the same call", b.op, b.rank, describe(b), a.rank,
        describe(a), a.place, row[1], y or "none", x or "none")
    end
  end
end

-- How many ranks of the group are in this process.
local function count_local(run, group)
  local n = 0
  for _, rank in ipairs(group) do n = n + (run.tasks[rank] and 1 or 0) end
  return n
end

-- Requests that fit run when the turn ends.
local function add_job(run, op, calls, requests)
  table.insert(run.jobs, { op = op, calls = calls, requests = requests })
end

local function add_collective(run, q)
  local waiting = run.waiting[q.key] or {}
  run.waiting[q.key] = waiting
  if waiting[1] then check_alike(waiting[1], q) end
  waiting.wanted = waiting.wanted or count_local(run, q.group)
  waiting[#waiting + 1] = q
  if #waiting < waiting.wanted then return end
  run.waiting[q.key] = nil
  add_job(run, q.op, waiting, waiting)
end

-- {====== Matching messages ======

local function fail_message(q, a, other, b)
  local what = a.dtype ~= b.dtype and "the element types" or "the sizes"
  fail_at(q, "%s: rank %d calls %s, but rank %d calls %s at %s; %s differ: %s %s and %s %s", q.op,
    q.rank, describe(q), other.rank, describe(other), other.place, what, a.dtype, a.shape, b.dtype,
    b.shape)
end

-- The waiting request at the other end of an end of q; nil if there is none yet. A rank of another
-- process makes its call there: true.
local function partner(run, q, name, opposite)
  local mine = q[name]
  local task = run.tasks[mine.rank]
  if not task then return true end
  local other = task.request
  local theirs = other and other[opposite]
  if theirs and theirs.rank == q.rank then
    local fits = mine.n == theirs.n and mine.dtype == theirs.dtype
    return fits and other or fail_message(q, mine, other, theirs)
  end
  local same = other and other[name]
  if same and not theirs and not q[opposite] and same.rank == q.rank then
    fail_at(q, "%s: rank %d calls %s, but rank %d calls %s at %s; both wait for the other's "
      .. "%s\n  one of them must %s first, or both use send_recv", q.op, q.rank, describe(q),
      other.rank, describe(other), other.place, opposite, opposite)
  end
  return nil
end

-- Adds to `found` all requests that run together with q; false if one of them has no partner yet.
local function collect(run, q, found)
  if found[q] then return true end
  found[q], found[#found + 1] = true, q
  for name, opposite in pairs { send = "recv", recv = "send" } do
    local other = q[name] and partner(run, q, name, opposite)
    if q[name] and not other then return false end
    if type(other) == "table" and not collect(run, other, found) then return false end
  end
  return true
end

local function add_message(run, q)
  local found = {}
  if not collect(run, q, found) then return end
  local calls = {}
  for i, each in ipairs(found) do
    calls[i] = { rank = each.rank, group = q.mesh:group(0), sends = { each.send },
      recvs = { each.recv } }
  end
  add_job(run, "send_recv", calls, found)
end

-- {====== Deadlocks ======

local function missing_ranks(run, q)
  local there, names = {}, {}
  for _, other in ipairs(run.waiting[q.key] or {}) do there[other.rank] = true end
  for _, rank in ipairs(q.group) do
    if run.tasks[rank] and not there[rank] then names[#names + 1] = rank end
  end
  return (#names == 1 and "rank " or "ranks ") .. table.concat(names, ", ")
end

local function line_of(run, rank, task)
  local q = task.request
  if not q then return ("  rank %d has ended"):format(rank) end
  local wanted = q.is_message and "" or ", for " .. missing_ranks(run, q)
  return ("  rank %d waits at %s: %s%s"):format(rank, q.place, describe(q), wanted)
end

-- A rank of q's group that waits for q's rank in a call over other axes.
local function crossed(run, q)
  for _, rank in ipairs(q.group or {}) do
    local other = run.tasks[rank] and run.tasks[rank].request
    for _, back in ipairs(other and other.key and other.key ~= q.key and other.group or {}) do
      if back == q.rank then return other end
    end
  end
end

local function fail_deadlock(run)
  local lines, first = {}, nil
  for _, rank in ipairs(run.engine.ranks) do
    local task = run.tasks[rank]
    lines[#lines + 1] = line_of(run, rank, task)
    first = first or task.request
  end
  for _, rank in ipairs(run.engine.ranks) do
    local q = run.tasks[rank].request
    local other = q and q.key and crossed(run, q)
    if other then check_alike(other, q) end
  end
  fail_at(first, "m:run: deadlock, no rank can go on\n%s", table.concat(lines, "\n"))
end

-- {====== Running ======

-- Runs a function of the library's for a rank: its device is the current one, and errors of it name
-- the rank.
local function as_rank(run, rank, fn, ...)
  local device, before = run.engine:device(rank), nil
  if device ~= "cpu" then before = internal.choose_device(device) end
  internal.enter_rank(rank)
  local result = table.pack(fn(...))
  internal.enter_rank(nil)
  if before then internal.choose_device(before) end
  return result
end

local function fail_rank(run, rank, why)
  if type(why) ~= "string" then error(why, 0) end
  error(("%s\n  in rank %d of %s; the other ranks were ended"):format(why, rank, run.mesh), 0)
end

local function take_request(run, rank, q)
  local task = run.tasks[rank]
  if getmetatable(q) ~= request_type then
    fail_rank(run, rank, ("%s: the function of m:run yields; only collectives wait"):format(
      run.place))
  end
  task.request = q
  if q.is_message then add_message(run, q) else add_collective(run, q) end
end

local function resume(run, rank)
  local task = run.tasks[rank]
  task.is_ready = false
  local out = as_rank(run, rank, coroutine.resume, task.co, task.object)
  if not out[1] then
    fail_rank(run, rank, out[2])
  elseif coroutine.status(task.co) == "dead" then
    task.is_ended, run.results[rank] = true, out[2]
  else
    take_request(run, rank, out[2])
  end
end

-- Each rank learns the tensors of all. A barrier, for what filled them must be over.
local function exchange(run, job)
  run.engine:run("barrier", job.calls)
  local tensors = {}
  for _, q in ipairs(job.requests) do tensors[q.rank] = q.first end
  for _, q in ipairs(job.requests) do q.tensors = tensors end
end

local function run_job(run, job)
  if job.op == "peers" then
    exchange(run, job)
  else
    run.engine:run(job.op, job.calls)
  end
  for _, q in ipairs(job.requests) do
    local task = run.tasks[q.rank]
    task.request, task.is_ready = nil, true
  end
end

-- As in a stream: a call of a rank comes after the launches that the rank made before it. They wait
-- to run (launch_joint.h).
local function has_launches(job)
  for _, call in ipairs(job.calls) do
    if internal.joint_count(call.rank) > 0 then return true end
  end
  return false
end

-- Runs the jobs whose ranks have no launches that wait. If there is no such job, the launches of
-- all ranks run at once, then all jobs.
local function run_jobs(run)
  local now, later = {}, {}
  for _, job in ipairs(run.jobs) do table.insert(has_launches(job) and later or now, job) end
  if #now == 0 then
    internal.joint_run()
    now, later = later, {}
  end
  run.jobs = later
  for _, job in ipairs(now) do run_job(run, job) end
end

-- One turn of all ranks that can go on; whether there was one, and whether all have ended.
local function turn(run)
  local moved, ended = false, true
  for _, rank in ipairs(run.engine.ranks) do
    if run.tasks[rank].is_ready then
      moved = true
      resume(run, rank)
    end
    ended = ended and run.tasks[rank].is_ended
  end
  run_jobs(run)
  return moved, ended
end

-- Ends all ranks that have not ended; what they must close is closed, also of the one that failed.
local function close(run)
  run.is_over = true
  internal.enter_rank(nil) -- an interrupt may have left it set
  internal.joint_drop()
  for _, rank in ipairs(run.engine.ranks) do
    as_rank(run, rank, coroutine.close, run.tasks[rank].co)
  end
end

local function new_run(m, fn)
  local run = { mesh = m, engine = engines.of(m, "mesh:run"), tasks = {}, waiting = {},
    jobs = {}, results = {}, place = internal.script_place() or "?" }
  for _, rank in ipairs(run.engine.ranks) do
    local object = setmetatable({ rank = rank, coord = m:coord(rank), mesh = m }, rank_type)
    runs[object] = run
    run.tasks[rank] = { co = coroutine.create(fn), object = object, is_ready = true,
      groups = {} }
  end
  return run
end

local run_type = { __close = close }

--- m:run(fn): the first result of fn for each rank of this process, by rank.
function M.run(m, fn)
  meshes.check(m, "mesh:run")
  if internal.rank() then
    tiles.fail("mesh:run", "rank %d calls m:run inside of m:run; call it once, outside",
      internal.rank())
  elseif type(fn) ~= "function" then
    tiles.fail("mesh:run", "argument 1 is of type %s; a function of a rank was expected",
      tiles.type_name(fn))
  end
  local run <close> = setmetatable(new_run(m, fn), run_type)
  repeat
    local moved, ended = turn(run)
    if not moved and not ended then fail_deadlock(run) end
  until ended
  return run.results
end

return M
