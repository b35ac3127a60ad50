-- rank_match.lua: which requests of ranks (rank.lua) belong together. All ranks of a group must
-- make the same call, and a message needs its other end. What fits becomes a job of the run. What
-- cannot fit is an error that names both ranks and lines, and so are waits that nobody ends.
--   run   tasks (by rank: request, nil if it does not wait), waiting (lists of requests by their
--         group's key), jobs ({op =, calls =, requests =}), engine
local M = {}

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

--- Where a rank is: a line of a message.
function M.line_of(run, rank)
  local task = run.tasks[rank]
  local q = task.request
  if not q then return ("  rank %d %s"):format(rank, task.is_ended and "has ended" or "runs") end
  local has_all = q.is_message or not run.waiting[q.key]
  local wanted = has_all and "" or ", for " .. missing_ranks(run, q)
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

--- No rank can go on: the error says where each waits, and for whom.
function M.fail_deadlock(run)
  local lines, first = {}, nil
  for _, rank in ipairs(run.engine.ranks) do
    local task = run.tasks[rank]
    lines[#lines + 1] = M.line_of(run, rank)
    first = first or task.request
  end
  for _, rank in ipairs(run.engine.ranks) do
    local q = run.tasks[rank].request
    local other = q and q.key and crossed(run, q)
    if other then check_alike(other, q) end
  end
  fail_at(first, "m:run: deadlock, no rank can continue\n%s", table.concat(lines, "\n"))
end

--- Adds the request of a rank that begins to wait.
function M.add(run, q)
  if q.is_message then add_message(run, q) else add_collective(run, q) end
end

return M
