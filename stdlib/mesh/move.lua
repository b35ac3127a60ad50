-- move.lua: runs a step of a plan on the parts of a tensor: packs what a collective sends, where it
-- does not lie in one row already, runs it, and unpacks. A planner orders the memory of parts so
-- that packing and unpacking are seldom needed.
--
-- A collective works on a big buffer with a chunk for each rank of a group; the buffer's layout is
-- that of the smaller part, with the axes of the group as its slowest modes.
local internal = ...
local lists = require "cuttle.lists"
local permute = require "cuttle.permute"
local pieces = require "cuttle.pieces"
local shardings = require "cuttle.sharding"
local tiles = require "cuttle.tiles"
local M = {}

-- {====== Memory ======

local part_sizes = setmetatable({}, { __mode = "k" }) -- by sharding

--- A row for the part of each rank of this process, by rank. Kernels of other processes may come to
--- use them, if there are any.
function M.new_parts(engine, dtype, s)
  local rows, is_shared = {}, #engine.ranks < s.mesh.n
  local n = part_sizes[s] or shardings.part_size(s)
  part_sizes[s] = n
  for _, rank in ipairs(engine.ranks) do
    rows[rank] = internal.mesh.tensor(dtype, n, engine:device(rank), rank, is_shared)
  end
  return rows
end

local function scratch(job, n, rank)
  return internal.mesh.tensor(job.dtype, n, job.engine:device(rank), rank)
end

--- Gives back the rows of a table.
function M.close_all(rows)
  for _, row in pairs(rows) do row:close() end
end

-- {====== A step ======

-- By step: what its runs have in common. `kept` holds what they find out, `runs` by engine the
-- calls of its collective and what the engine keeps for them. is_direct: a collective from the
-- parts to the new ones is all there is to do. `copies`, of a local step: by engine, for each of
-- its ranks, the boxes of the part that are copied; false: the part is zeros.
local prepared = setmetatable({}, { __mode = "k" })

-- The spreads, and the weight of each axis in the place of a rank in its group of g ranks.
local function prepare(step)
  local known = { from = pieces.spread(step.from), to = pieces.spread(step.to), weight = {}, g = 1,
    mesh = step.from.mesh, kept = {}, runs = setmetatable({}, { __mode = "k" }),
    copies = setmetatable({}, { __mode = "k" }) }
  for _, axis in ipairs(step.axes or {}) do
    known.weight[axis], known.g = known.g, known.g * known.mesh.extent[axis]
  end
  return known
end

local function job_of(engine, dtype, step, parts)
  local known = prepared[step] or prepare(step)
  prepared[step] = known
  return setmetatable({ engine = engine, dtype = dtype, step = step, parts = parts, known = known },
    { __index = known })
end

-- What `make` gives, made once for all runs of the step.
local function keep(job, name, make, ...)
  local kept = job.kept[name]
  if not kept then
    kept = table.pack(make(job, ...))
    job.kept[name] = kept
  end
  return table.unpack(kept)
end

local function atoms_of(job)
  local atoms = pieces.atoms(job.from, job.to)
  if not atoms then
    tiles.fail("reshard", "%s from %s to %s: the factors of a mode do not divide each other, so "
      .. "this is not a step of a plan", job.step.op, job.step.from, job.step.to)
  end
  return atoms
end

local function boxes_between(job, q, r)
  return keep(job, q * job.mesh.n + r, function()
    return pieces.boxes(job.from, q, job.to, r)
  end)
end

-- The stride of an axis' digit in the big buffer, whose chunks have n elements; nil: the axis is
-- none of the group.
local function chunk_stride(job, at, n)
  local weight = at.axis and job.weight[at.axis]
  return weight and n * weight * at.weight
end

local function new_parts(job) return M.new_parts(job.engine, job.dtype, job.step.to) end

-- Rows of n elements where the box moves something, else the given ones.
local function buffers(job, box, n, rows)
  if pieces.is_identity(box) then return rows end
  local new = {}
  for _, rank in ipairs(job.engine.ranks) do new[rank] = scratch(job, n, rank) end
  return new
end

local function copy_rows(job, box, from, to)
  if from == to then return end
  for _, rank in ipairs(job.engine.ranks) do pieces.copy(box, from[rank], to[rank]) end
end

-- What all runs of a step's collective on an engine have in common: its calls, and by type what the
-- engine keeps for them.
local function kept_run(known, step, engine)
  local kept = known.runs[engine]
  if not kept then
    kept = { calls = {}, memos = {} }
    for i, rank in ipairs(engine.ranks) do
      kept.calls[i] = { rank = rank, group = known.mesh:group(rank, step.axes), reduce = "sum" }
    end
    known.runs[engine] = kept
  end
  return kept
end

-- The calls hold no row between two runs.
local function run_rows(known, step, engine, dtype, src, dst)
  local kept = known.runs[engine] or kept_run(known, step, engine)
  local calls, memo = kept.calls, kept.memos[dtype]
  if not memo then
    memo = {}
    kept.memos[dtype] = memo
  end
  for i = 1, #calls do
    local call = calls[i]
    call.src, call.dst = src[call.rank], dst[call.rank]
  end
  engine:run(step.op, calls, memo)
  for i = 1, #calls do calls[i].src, calls[i].dst = nil, nil end
end

local function run(job, src, dst)
  run_rows(job.known, job.step, job.engine, job.dtype, src, dst)
end

-- {====== Collectives ======

local moves = {}

-- Runs the collective. `pack`: a box from the parts to what is sent, of n elements; `unpack`: one
-- from what is received, of n elements, to the parts. nil: the parts are sent, or received.
local function through(job, n, pack, unpack)
  local out = new_parts(job)
  local sent = pack and buffers(job, pack, n, job.parts) or job.parts
  local received = unpack and buffers(job, unpack, n, out) or out
  job.known.is_direct = sent == job.parts and received == out
  copy_rows(job, pack, job.parts, sent)
  run(job, sent, received)
  copy_rows(job, unpack, received, out)
  if sent ~= job.parts then M.close_all(sent) end
  if received ~= out then M.close_all(received) end
  return out
end

-- The box of a collective with a big buffer on the side `big`, "from" or "to": its chunks have n
-- elements.
local function big_box(job, big, n)
  local dims = {}
  for _, atom in ipairs(atoms_of(job)) do
    local stride = chunk_stride(job, atom[big], n) or atom[big].stride
    if stride and big == "from" then
      dims[#dims + 1] = { atom.extent, stride, atom.to.stride }
    elseif stride then
      dims[#dims + 1] = { atom.extent, atom.from.stride, stride }
    end
  end
  return pieces.box(dims)
end

function moves.all_gather(job)
  local n = shardings.part_size(job.step.from)
  return through(job, n * job.g, nil, keep(job, "box", big_box, "from", n))
end

function moves.reduce_scatter(job)
  local n = shardings.part_size(job.step.to)
  return through(job, n * job.g, keep(job, "box", big_box, "to", n), nil)
end

local function local_box(job)
  local dims = {}
  for _, atom in ipairs(atoms_of(job)) do
    if atom.from.stride and atom.to.stride then
      dims[#dims + 1] = { atom.extent, atom.from.stride, atom.to.stride }
    end
  end
  return pieces.box(dims)
end

function moves.all_reduce(job)
  local box, out = keep(job, "box", local_box), new_parts(job)
  job.known.is_direct = pieces.is_identity(box)
  if job.known.is_direct then
    run(job, job.parts, out)
  else
    copy_rows(job, box, job.parts, out)
    run(job, out, out)
  end
  return out
end

-- Strides of the atoms in what all_to_all sends and receives, if those that stay on a rank have the
-- strides `at[atom]` in a chunk of n elements: boxes from the parts, and to them.
local function exchange(job, atoms, at, n)
  local pack, unpack = {}, {}
  for _, atom in ipairs(atoms) do
    local f, t = atom.from, atom.to
    if f.stride and t.stride then
      pack[#pack + 1] = { atom.extent, f.stride, at[atom] }
      unpack[#unpack + 1] = { atom.extent, at[atom], t.stride }
    elseif f.stride then
      pack[#pack + 1] = { atom.extent, f.stride, chunk_stride(job, t, n) }
    elseif t.stride then
      unpack[#unpack + 1] = { atom.extent, chunk_stride(job, f, n), t.stride }
    end
  end
  return pieces.box(pack), pieces.box(unpack)
end

-- Strides of what stays on a rank, compact in the order of one side's memory.
local function compact(atoms, name)
  local stay, at, stride = {}, {}, 1
  for _, atom in ipairs(atoms) do
    if atom.from.stride and atom.to.stride then stay[#stay + 1] = atom end
  end
  table.sort(stay, function(a, b) return a[name].stride < b[name].stride end)
  for _, atom in ipairs(stay) do at[atom], stride = stride, stride * atom.extent end
  return at
end

-- Chunks in the order of the source, if that saves packing, else of the destination.
local function exchange_boxes(job, n)
  local atoms = atoms_of(job)
  local pack, unpack = exchange(job, atoms, compact(atoms, "from"), n)
  if pieces.is_identity(pack) then return pack, unpack end
  return exchange(job, atoms, compact(atoms, "to"), n)
end

function moves.all_to_all(job)
  local n = shardings.part_size(job.step.from) // job.g
  return through(job, n * job.g, keep(job, "box", exchange_boxes, n))
end

-- {====== Messages ======

-- The ranks that have what rank r is to get, each one's part in a different place: on axes that do
-- not shard `from` they have r's own coordinates.
local function sources(job, r)
  if job.step.op == "permute" then return { permute.source(job.step, r) } end
  local axes = lists.filter(job.mesh.axes, function(name) return job.sharding_axes[name] end)
  if #axes == 0 then return { r } end
  return job.mesh:group(r, axes)
end

local function count(boxes)
  local n = 0
  for _, box in ipairs(boxes) do n = n + pieces.size(box) end
  return n
end

-- Boxes between a part and a message, whose elements follow one another box by box.
local function message_boxes(boxes, side_of_part)
  local out, at = {}, 0
  for i, box in ipairs(boxes) do
    local dims, step = {}, 1
    for k, d in ipairs(box.dims) do
      dims[k] = side_of_part == "src" and { d[1], d[2], step } or { d[1], step, d[3] }
      step = step * d[1]
    end
    out[i] = side_of_part == "src" and { src = box.src, dst = at, dims = dims }
      or { src = at, dst = box.dst, dims = dims }
    at = at + step
  end
  return out
end

-- One box that lies in a row needs no packing.
local function is_plain(boxes, side_of_part)
  local first = boxes[2] == nil and message_boxes(boxes, side_of_part)[1]
  return first and (#first.dims == 0 or pieces.is_row(pieces.box(first.dims)))
end

local function add_send(job, call, r, boxes)
  local n, part = count(boxes), job.parts[call.rank]
  if is_plain(boxes, "src") then
    table.insert(call.sends, { rank = r, row = part, at = boxes[1].src, n = n })
    return
  end
  local row = scratch(job, n, call.rank)
  for _, box in ipairs(message_boxes(boxes, "src")) do pieces.copy(box, part, row) end
  table.insert(job.scratch, row)
  table.insert(call.sends, { rank = r, row = row, at = 0, n = n })
end

local function add_recv(job, call, q, boxes, out)
  local n = count(boxes)
  if is_plain(boxes, "dst") then
    table.insert(call.recvs, { rank = q, row = out, at = boxes[1].dst, n = n })
    return
  end
  local row = scratch(job, n, call.rank)
  table.insert(job.scratch, row)
  table.insert(call.recvs, { rank = q, row = row, at = 0, n = n })
  table.insert(job.after, function()
    for _, box in ipairs(message_boxes(boxes, "dst")) do pieces.copy(box, row, out) end
  end)
end

-- What rank r gets: from its own part at once, from others by messages.
local function receive(job, calls, r, out)
  local is_local = calls[r] ~= nil
  for _, q in ipairs(sources(job, r)) do
    local boxes = (is_local or calls[q]) and boxes_between(job, q, r) or {}
    if #boxes > 0 and q == r then
      for _, box in ipairs(boxes) do pieces.copy(box, job.parts[q], out[r]) end
    elseif #boxes > 0 then
      if calls[q] then add_send(job, calls[q], r, boxes) end
      if is_local then add_recv(job, calls[r], q, boxes, out[r]) end
    end
  end
end

function moves.send_recv(job)
  local out, calls, list = new_parts(job), {}, {}
  job.scratch, job.after, job.sharding_axes = {}, {}, shardings.sharding_axes(job.step.from)
  local everyone = job.mesh:group(0)
  for i, rank in ipairs(job.engine.ranks) do
    calls[rank] = { rank = rank, group = everyone, sends = {}, recvs = {} }
    list[i] = calls[rank]
  end
  for r = 0, job.mesh.n - 1 do receive(job, calls, r, out) end
  job.engine:run("send_recv", list)
  for _, unpack in ipairs(job.after) do unpack() end
  M.close_all(job.scratch)
  return out
end

moves.permute = moves.send_recv

-- A new axis of partial sums: the first rank on it keeps the values, the others have zeros.
local function is_zero(job, rank)
  for axis in pairs(job.step.to.partial) do
    if not job.step.from.partial[axis] and job.mesh:digit(rank, axis) > 0 then return true end
  end
  return false
end

local function copies_of(job)
  return lists.map(job.engine.ranks, function(rank)
    return not is_zero(job, rank) and boxes_between(job, rank, rank)
  end)
end

local function copy_parts(engine, copies, parts, out)
  for i, rank in ipairs(engine.ranks) do
    local boxes = copies[i]
    if boxes then
      for k = 1, #boxes do pieces.copy(boxes[k], parts[rank], out[rank]) end
    else
      internal.mesh.zero(out[rank])
    end
  end
  return out
end

moves["local"] = function(job)
  local copies = copies_of(job)
  job.known.copies[job.engine] = copies
  return copy_parts(job.engine, copies, job.parts, new_parts(job))
end

--- Runs a step: the parts of this process' ranks, by rank, under step.from; returns those under
--- step.to. All have memory of their own.
function M.run(engine, dtype, step, parts)
  local known = prepared[step]
  if known and known.is_direct then
    local out = M.new_parts(engine, dtype, step.to)
    run_rows(known, step, engine, dtype, parts, out)
    return out
  end
  local copies = known and known.copies[engine]
  if copies then
    return copy_parts(engine, copies, parts, M.new_parts(engine, dtype, step.to))
  end
  return moves[step.op](job_of(engine, dtype, step, parts))
end

return M
