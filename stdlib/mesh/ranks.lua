-- ranks.lua: m:run(fn): fn once for each rank of this process, as coroutines. A rank (rank.lua)
-- runs until it calls a collective, which waits. When all ranks of its group that are here have
-- called theirs (rank_match.lua), the engine runs it, and they go on. So what ranks do wrong is
-- seen at once: different calls, and waits that nobody ends.
-- Launches of ranks are gathered (launch_joint.h): on the CPU engine all, on devices those that
-- may wait for other ranks. They run at once when all ranks wait and no collective can run without
-- them.
local internal = ...
local engines = require "cuttle.engine"
local ipc = require "cuttle.ipc"
local lists = require "cuttle.lists"
local match = require "cuttle.rank_match"
local meshes = require "cuttle.mesh_type"
local processes = require "cuttle.processes"
local ranks = require "cuttle.rank"
local tiles = require "cuttle.tiles"
local coroutine = coroutine
local M = {}

-- Runs a function of the library's for a rank: its device is the current one, and errors of it name
-- the rank.
local function as_rank(run, rank, fn, ...)
  local device, before = run.engine:device(rank), nil
  if device ~= "cpu" then before = internal.launch.choose_device(device) end
  internal.mesh.enter_rank(rank, #run.engine.ranks, run.seconds)
  local result = table.pack(fn(...))
  internal.mesh.enter_rank(nil)
  if before then internal.launch.choose_device(before) end
  return result
end

local function fail_rank(run, rank, why)
  if type(why) ~= "string" then error(why, 0) end
  error(("%s\n  in rank %d of %s; the other ranks were ended"):format(why, rank, run.mesh), 0)
end

local function take_request(run, rank, q)
  local task = run.tasks[rank]
  if not ranks.is_request(q) then
    fail_rank(run, rank, ("%s: the function of m:run yields; only collectives wait"):format(
      run.place))
  end
  task.request = q
  match.add(run, q)
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
  local tensors = {}
  if #job.requests < #job.requests[1].group then
    for _, q in ipairs(job.requests) do q.tickets = ipc.exchange(run.engine, q, q.first) end
  else
    run.engine:run("barrier", job.calls)
  end
  for _, q in ipairs(job.requests) do tensors[q.rank] = q.first end
  for _, q in ipairs(job.requests) do q.tensors = tensors end
end

local MAX_KEPT <const> = 1000
local memos = setmetatable({}, { __mode = "k" }) -- by engine: {n =, by_key =}

-- What tells collectives apart whose calls have only other rows.
local function key_of(calls)
  local q, order = calls[1], {}
  for i, call in ipairs(calls) do order[i] = call.rank end
  return ("%s %s %s %s %d %d %s %s %s"):format(q.op, q.key, q.where, q.dst.dtype, size(q.src),
    size(q.dst), q.reduce, q.root, q.stream ~= nil) .. " " .. table.concat(order, ",")
end

-- The engine's memo for such calls; nil: it has none for the operation.
local function memo_of(engine, job)
  if not job.calls[1].dst then return nil end
  local kept, key = memos[engine], key_of(job.calls)
  if not kept or kept.n == MAX_KEPT then
    kept = { n = 0, by_key = {} }
    memos[engine] = kept
  end
  local memo = kept.by_key[key]
  if not memo then
    memo = {}
    kept.by_key[key], kept.n = memo, kept.n + 1
  end
  return memo
end

local function run_job(run, job)
  if job.op == "peers" then
    exchange(run, job)
  else
    run.engine:run(job.op, job.calls, memo_of(run.engine, job))
  end
  for _, q in ipairs(job.requests) do
    local task = run.tasks[q.rank]
    task.request, task.is_ready = nil, true
  end
end

-- As in a stream: a call of a rank comes after the launches that the rank made before it. They wait
-- to run (launch_joint.h).
local function has_launches(job)
  return lists.any(job.calls, function(call) return internal.mesh.joint_count(call.rank) > 0 end)
end

-- Runs the jobs whose ranks have no launches that wait. If there is no such job, the launches of
-- all ranks run at once, then all jobs.
local function run_jobs(run)
  local now, later = {}, {}
  for _, job in ipairs(run.jobs) do table.insert(has_launches(job) and later or now, job) end
  if #now == 0 then
    for _, job in ipairs(later) do run.engine:prepare(job.op, job.calls) end
    internal.mesh.joint_run()
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
  run.is_over, ranks.running = true, nil
  internal.mesh.enter_rank(nil) -- an error may have left it set
  internal.mesh.joint_drop()
  for _, rank in ipairs(run.engine.ranks) do
    as_rank(run, rank, coroutine.close, run.tasks[rank].co)
  end
end

local function new_run(m, fn)
  local run = { mesh = m, engine = engines.of(m, "mesh:run"), tasks = {}, waiting = {},
    jobs = {}, results = {}, place = internal.host.script_place() or "?",
    seconds = processes.limit() }
  for _, rank in ipairs(run.engine.ranks) do
    run.tasks[rank] = { co = coroutine.create(fn), object = ranks.new(run, rank), is_ready = true,
      groups = {} }
  end
  return run
end

local run_type = { __close = close }

-- Where each rank is, and what its device may still do: for whoever stopped them.
local function report(run)
  local lines = {}
  for _, rank in ipairs(run and run.engine.ranks or lines) do
    local kernels = internal.mesh.kernels_on(run.engine:device(rank))
    lines[#lines + 1] = match.line_of(run, rank)
      .. (kernels and ("\n    on its device %s may still run"):format(kernels) or "")
  end
  return #lines > 0 and ("\n%s"):format(table.concat(lines, "\n")) or ""
end

local function run_ranks(m, fn, box)
  local run <close> = setmetatable(new_run(m, fn), run_type)
  ranks.running, box.run = run, run
  repeat
    local moved, ended = turn(run)
    if not moved and not ended then match.fail_deadlock(run) end
  until ended
  internal.mesh.graph_meet()
  return run.results
end

--- m:run(fn): the first result of fn for each rank of this process, by rank.
function M.run(m, fn)
  meshes.check(m, "mesh:run")
  if internal.launch.rank() then
    tiles.fail("mesh:run", "rank %d calls m:run inside of m:run; call it once, outside",
      internal.launch.rank())
  elseif type(fn) ~= "function" then
    tiles.fail("mesh:run", "argument 1 is of type %s; a function of a rank was expected",
      tiles.type_name(fn))
  end
  local box = {}
  return internal.mesh.joint_guard(function() return report(box.run) end, run_ranks, m, fn, box)
end

return M
