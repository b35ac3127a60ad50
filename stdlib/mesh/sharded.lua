-- sharded.lua: sharded tensors: shape, type, sharding, and a part on each rank of this process.
-- Fields that other modules of this room read:
--   x.mesh, x.sharding, x.dtype, x.shape, x.layout
--   x.engine        who runs its collectives (engine.lua)
--   x.tickets       for rows of other processes, by rank (ipc.lua); nil: they were not exchanged
--   x.rows          the parts with their padding, as rows, by rank; empty when it is closed
--   x.views         valid elements of parts that were asked for, by rank; nil: none was
--   x.peers         those of other ranks (peers.lua); nil: none was
local internal = ...
local engines = require "cuttle.engine"
local meshes = require "cuttle.mesh_type"
local move = require "cuttle.move"
local pieces = require "cuttle.pieces"
local shardings = require "cuttle.sharding"
local tiles = require "cuttle.tiles"
local M = {}

local MAX_PRINTED <const>, NONE <const> = 8, {}

local methods = {}
local sharded_type = tiles.new_type("sharded tensor", methods,
  { "dtype", "layout", "mesh", "shape", "sharding" })
sharded_type.__operators = meshes.operators
-- Why a launch does not take one.
sharded_type.__no_argument =
  "is a sharded tensor; a kernel needs the part of a rank, x:part(r.rank)"

local function list_shape(shape) return #shape == 1 and shape[1] or shape end

-- What all tensors of a sharding have in common: their shape and layout, the layout of what is
-- valid by rank, and the plans from here by the spec of the target, then by the bytes of an
-- element.
local MAX_KEPT <const> = 1000
local common = setmetatable({}, { __mode = "k" }) -- by sharding

local function common_of(s)
  local c = common[s]
  if not c then
    c = { shape = shape(layout(list_shape(s.shape))), layout = shardings.layout(s),
      valid = {}, plans = {}, n_plans = 0 }
    common[s] = c
  end
  return c
end

local function with_rows(engine, dtype, s, rows)
  local c = common_of(s)
  return setmetatable({ mesh = s.mesh, sharding = s, dtype = dtype, engine = engine, rows = rows,
    shape = c.shape, layout = c.layout }, sharded_type)
end

--- A new one; its elements are not set.
function M.new(engine, dtype, s)
  return with_rows(engine, dtype, s, move.new_parts(engine, dtype, s))
end

-- {====== Arguments ======

function M.is_sharded(x) return getmetatable(x) == sharded_type end

--- In m:run each rank would do it again.
function M.check_outside(op)
  local rank = internal.launch.rank()
  if rank then
    tiles.fail(op, "it works on all ranks at once, but rank %d calls it in m:run; call it before "
      .. "or after m:run", rank)
  end
end

--- That it is an open sharded tensor.
function M.check(x, op)
  if getmetatable(x) ~= sharded_type then
    tiles.fail(op, "argument 1 is of type %s; a sharded tensor was expected, as shard(t, \"(M@data)"
      .. "\", m) makes one", tiles.type_name(x))
  elseif next(x.rows) == nil then
    tiles.fail(op, "the sharded tensor is closed; its memory was given back")
  end
end

local check, check_outside <const> = M.check, M.check_outside

local function check_tensor(t, op)
  local address, why = nil, "is not a tensor of the host"
  if tiles.type_name(t) == "tensor" then address, why = internal.launch.address(t) end
  if why then tiles.fail(op, "argument 1 %s; a tensor was expected", why) end
  if address == nil then
    tiles.fail(op, "argument 1 is a tensor of a kernel; one of the host was expected")
  end
end

local function dtype_of(dtype, op)
  if tiles.type_name(dtype) ~= "dtype" then
    tiles.fail(op, "argument 1 is of type %s; an element type was expected, as f32",
      tiles.type_name(dtype))
  end
  return dtype
end

-- {====== Whole tensors and parts ======

-- One stride for each mode; nil if a mode has more, or reaches backwards.
local function strides_of(t)
  local strides = {}
  for i = 0, rank(t.layout) - 1 do
    local l = coalesce(get_mode(t.layout, i))
    if depth(l) > 1 or (depth(l) == 1 and rank(l) > 1) then return nil end
    local stride = stride(l)
    stride = type(stride) == "table" and stride[1] or stride
    if stride < 0 then return nil end
    strides[i + 1] = stride
  end
  return strides
end

-- A tensor as one row of memory, and as a spread over no mesh. `shape`: its extents. A tensor whose
-- modes have no strides of their own is copied first.
local function as_row(t, shape)
  local strides = strides_of(t)
  if not strides then
    local dense = tensor(t.dtype, shape)
    copy(t, dense)
    t, strides = dense, strides_of(dense)
  end
  return view(t, cosize(t.layout)), pieces.whole(shape, strides)
end

-- A row of n elements where `like` lies.
local function row_beside(like, n)
  return internal.mesh.tensor(like.dtype, n, like.device, -1)
end

-- Copies what a whole tensor has of a part, by way of a row beside it if they lie on two devices.
local function fill_part(row, part, boxes)
  local beside = row.device == part.device and part or row_beside(row, size(part))
  for _, box in ipairs(boxes) do pieces.copy(box, row, beside) end
  if beside ~= part then
    internal.mesh.copy(part, 0, beside, 0, size(part))
    beside:close()
  end
end

local function empty_part(part, row, boxes)
  local beside = part
  if row.device ~= part.device then
    beside = row_beside(row, size(part))
    internal.mesh.copy(beside, 0, part, 0, size(part))
  end
  for _, box in ipairs(boxes) do pieces.copy(box, beside, row) end
  if beside ~= part then beside:close() end
end

-- Is the rank the first one on all these axes?
local function is_first(m, rank, axes)
  for axis in pairs(axes) do
    if m:digit(rank, axis) > 0 then return false end
  end
  return true
end

-- {====== Shardings and plans that were made before ======

local shardings_of = setmetatable({}, { __mode = "k" }) -- by mesh: {count, by spec and layout}

-- The sharding that a spec says; a text says the same for the same shape and names.
local function sharding_of(m, shape, spec, op)
  if type(spec) ~= "string" or shape == nil or not meshes.is_mesh(m) then
    return shardings.new(m, shape, spec, op)
  end
  local layout = tiles.type_name(shape) == "tensor" and shape.layout or layout(shape)
  local key, kept = ("%s of %s"):format(spec, layout), shardings_of[m]
  if not kept or kept.n == MAX_KEPT then
    kept = { n = 0, by_key = {} }
    shardings_of[m] = kept
  end
  if not kept.by_key[key] then
    kept.by_key[key], kept.n = shardings.new(m, shape, spec, op), kept.n + 1
  end
  return kept.by_key[key]
end

local function target(x, spec, op)
  x.named = x.named or shardings.whole_layout(x.sharding)
  return sharding_of(x.mesh, x.named, spec, op)
end

-- The plans to a spec. A text says the same for the same sharding; what a script gives as an object
-- is read anew.
local function plans_to(x, spec, op)
  local c = common_of(x.sharding)
  local plans = type(spec) == "string" and c.plans[spec]
  if not plans then
    plans = { to = target(x, spec, op) }
    if c.n_plans == MAX_KEPT then c.plans, c.n_plans = {}, 0 end
    if type(spec) == "string" then c.plans[spec], c.n_plans = plans, c.n_plans + 1 end
  end
  return plans
end

-- What takes x to a spec.
local function plan_of(x, spec, op)
  local plans, bytes = plans_to(x, spec, op), x.dtype.bytes
  plans[bytes] = plans[bytes] or require "cuttle.plan".plan(x.sharding, plans.to, bytes, nil, op)
  return plans[bytes]
end

-- {====== Making ======

local function make(m, dtype, shape, spec, op)
  check_outside(op)
  local s = sharding_of(m, shape, spec, op)
  local engine = engines.of(m, op)
  return M.new(engine, dtype, s)
end

--- shard(t, spec, m): the tensor's elements on the ranks of the mesh.
function M.shard(t, spec, m)
  if getmetatable(t) == sharded_type then
    tiles.fail("shard", "argument 1 is sharded already; reshard(x, spec) spreads it anew")
  end
  check_tensor(t, "shard")
  meshes.check(m, "shard")
  local x = make(m, t.dtype, t, spec, "shard")
  local row, whole = as_row(t, x.sharding.shape)
  local to = pieces.spread(x.sharding)
  for rank, part in pairs(x.rows) do
    if is_first(m, rank, x.sharding.partial) then
      fill_part(row, part, pieces.boxes(whole, 0, to, rank))
    else
      internal.mesh.zero(part)
    end
  end
  return x
end

--- m:tensor(dtype, shape, spec): elements are not set.
function M.tensor(m, dtype, shape, spec)
  return make(m, dtype_of(dtype, "mesh:tensor"), shape, spec, "mesh:tensor")
end

--- m:zeros(dtype, shape, spec)
function M.zeros(m, dtype, shape, spec)
  local x = make(m, dtype_of(dtype, "mesh:zeros"), shape, spec, "mesh:zeros")
  for _, row in pairs(x.rows) do internal.mesh.zero(row) end
  return x
end

-- {====== Spreading anew ======

local function copy_rows(x, rows)
  for rank, row in pairs(x.rows) do internal.mesh.copy(rows[rank], 0, row, 0, size(row)) end
  return rows
end

--- Runs the steps of a plan; the result shares no memory with x.
function M.run_plan(x, plan)
  local rows = x.rows
  for _, step in ipairs(plan.steps) do
    local new_ones = move.run(x.engine, x.dtype, step, rows)
    if rows ~= x.rows then move.close_all(rows) end
    rows = new_ones
  end
  if rows == x.rows then
    rows = copy_rows(x, move.new_parts(x.engine, x.dtype, x.sharding))
  end
  return with_rows(x.engine, x.dtype, plan.to, rows)
end

--- Gives `to`, a sharded tensor as the plan ends with, the elements of x, as the plan begins with.
function M.assign(to, plan, x)
  local moved = M.run_plan(x, plan)
  for rank, row in pairs(moved.rows) do
    internal.mesh.copy(to.rows[rank], 0, row, 0, size(row))
  end
  moved:close()
end

--- reshard(x, spec): a new sharded tensor of the same elements.
function M.reshard(x, spec)
  check(x, "reshard")
  check_outside("reshard")
  return M.run_plan(x, plan_of(x, spec, "reshard"))
end

--- x:plan(spec): what reshard would do; print shows it.
function methods.plan(x, spec)
  check(x, "plan")
  return plan_of(x, spec, "plan")
end

-- {====== Looking ======

local function check_rank(x, rank)
  rank = rank or internal.launch.rank()
  local own = x.engine.ranks
  if not rank then
    tiles.fail("part", "argument 1 is missing; outside of m:run say which rank, as x:part(0)")
  elseif not x.rows[rank] then
    local is_rank = math.tointeger(rank) and rank >= 0 and rank < x.mesh.n
    tiles.fail("part", is_rank and "rank %s belongs to another process; this one has %s to %s of %s"
      or "there is no rank %s; this process has %s to %s of %s", tostring(rank), own[1], own[#own],
      x.mesh)
  end
  return rank
end

--- x:part(rank): the valid elements of a rank's part; in m:run that rank is the default.
function methods.part(x, rank)
  check(x, "part")
  rank = check_rank(x, rank)
  local views = x.views or {}
  if not views[rank] then
    local valid = common_of(x.sharding).valid
    valid[rank] = valid[rank] or shardings.part_view(x.sharding, rank)
    views[rank], x.views = internal.mesh.view(x.rows[rank], 0, valid[rank]), views
  end
  return views[rank]
end

-- The whole of a tensor without partial sums, from the parts of this process.
local function gather(x, ranks)
  local s = x.sharding
  local out = tensor(x.dtype, shardings.whole_layout(s))
  local row, whole = as_row(out, s.shape)
  local from = pieces.spread(s)
  for _, rank in ipairs(ranks) do
    empty_part(x.rows[rank], row, pieces.boxes(from, rank, whole, 0))
  end
  return out
end

-- The ranks of this process that have all elements, each once; nil: others are needed.
local function owners(x)
  local copies, ranks = {}, {}
  if #x.engine.ranks < x.mesh.n then return nil end
  for _, axis in ipairs(shardings.replicated(x.sharding)) do copies[axis] = true end
  for _, rank in ipairs(x.engine.ranks) do
    if is_first(x.mesh, rank, copies) then ranks[#ranks + 1] = rank end
  end
  return ranks
end

-- The sums of what ranks hold partial sums of, spread as before.
local function summed(x)
  local s, axes = x.sharding, {}
  for _, axis in ipairs(x.mesh.axes) do
    if s.partial[axis] then axes[#axes + 1] = axis end
  end
  local to = shardings.make(s.mesh, s.shape, s.names, s.modes, {}, s.order)
  local step = { op = "all_reduce", axes = axes, from = s, to = to }
  return M.run_plan(x, { to = to, steps = { step } })
end

--- x:whole(): all elements as an ordinary tensor on the current device, its modes in the order in
--- which they lie in parts.
function methods.whole(x)
  check(x, "whole")
  check_outside("whole")
  if shardings.is_partial(x.sharding) then
    local sums <close> = summed(x)
    return sums:whole()
  end
  local ranks, entries = owners(x), {}
  if ranks then return gather(x, ranks) end
  for i = 1, #x.sharding.shape do entries[i] = "_" end
  local copy <close> = M.reshard(x, "(" .. table.concat(entries, ",") .. ")")
  return gather(copy, { copy.engine.ranks[1] })
end

--- x:owner(coord): the ranks that have an element, and its offset in their parts.
function methods.owner(x, coord)
  check(x, "owner")
  return shardings.owners(x.sharding, coord)
end

--- What others keep for launches with x, user.launches, is dropped when x is closed.
function M.note_user(x, user)
  x.users = x.users or setmetatable({}, { __mode = "k" })
  x.users[user] = true
end

--- Gives back the memory of all parts.
function methods.close(x)
  for user in pairs(x.users or NONE) do user.launches = nil end
  for _, peers in pairs(x.peers or NONE) do move.close_all(peers) end
  move.close_all(x.views or NONE)
  move.close_all(x.rows)
  x.peers, x.views, x.rows, x.tickets, x.users = nil, nil, NONE, nil, nil
end

function methods.reshard(x, spec) return M.reshard(x, spec) end

sharded_type.__close = methods.close

-- "sharded f32 (M@data,K) of (1000,64) over mesh (data=2):(1)", then the parts.
function sharded_type.__tostring(x)
  local s = x.sharding
  local lines = { ("sharded %s %s of (%s) over %s"):format(x.dtype, shardings.text(s, s),
    table.concat(s.shape, ","), s.mesh) }
  if next(x.rows) == nil then lines[2] = "  closed" end
  for i, rank in ipairs(next(x.rows) and x.engine.ranks or {}) do
    if i > MAX_PRINTED then
      lines[#lines + 1] = ("  and %d more"):format(#x.engine.ranks - MAX_PRINTED)
      break
    end
    lines[#lines + 1] = ("  rank %d: %s on %s"):format(rank, shardings.part_view(s, rank),
      x.engine:device(rank))
  end
  return table.concat(lines, "\n")
end

return M
