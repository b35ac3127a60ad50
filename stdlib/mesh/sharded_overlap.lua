-- sharded_overlap.lua: a product of sharded tensors and the collective beside it in one kernel of
-- each rank. While they multiply, gather_matmul copies the rows of A and matmul_scatter sends sums.
-- With B in the place of A they compute C', so each is tried from both sides.
--   find  whether one of them does what a choice of sharded_matmul.lua asks for: a *way*.
--   run   does it.
-- A way is {kernel =, side =, axes =}. The side is the operand whose rows are gathered, or which
-- has C's rows. The axes are those of its rows, in the order in which they are spread.
local internal = ...
local lists = require "cuttle.lists"
local devices = require "cuttle.profile_device"
local gathering = require "cuttle.gather_matmul"
local meeting = require "cuttle.meet"
local peers = require "cuttle.peers"
local ranks = require "cuttle.ranks"
local scattering = require "cuttle.matmul_scatter"
local sharded = require "cuttle.sharded"
local shardings = require "cuttle.sharding"
local M = {}

local HALVES <const> = { f16 = true, bf16 = true }
local VECTOR <const> = 8 -- halves in 16 bytes
local LEAST_TILE <const> = 128
local other_of <const> = { A = "B", B = "A" }
local mode_of <const> = { A = 1, B = 2 } -- of C

-- {====== What the kernels take ======

-- Is the part a compact matrix whose mode `along` is contiguous, with rows of whole 16 bytes?
local function is_matrix(s, along)
  local l = shardings.part_layout(s)
  if rank(l) ~= 2 then return false end
  local shape, stride = shape(l), stride(l)
  local n = shape[along]
  return math.type(n) == "integer" and n > 0 and n % VECTOR == 0 and stride[along] == 1
    and stride[3 - along] == n
end

-- The axes of a set that follow the local factor of a mode, in that order. It is nil if others are
-- between them, or if the blocks are not of equal height.
local function axes_after(s, mode, set)
  local factors, axes, extent, wanted = s.modes[mode], {}, 1, 0
  for _, f in ipairs(factors) do extent = extent * f.extent end
  for _ in pairs(set) do wanted = wanted + 1 end
  if factors[1].axis or extent ~= s.shape[mode] then return nil end
  for i = 1, wanted do
    local axis = factors[i + 1] and factors[i + 1].axis
    if not axis or not set[axis] then return nil end
    axes[i] = axis
  end
  return axes
end

-- The only step of a plan, if it is that collective.
local function only_step(plan, op)
  return plan and #plan.steps == 1 and plan.steps[1].op == op and plan.steps[1] or nil
end

local function way_of(kernel, side, axes)
  return axes and { kernel = kernel, side = side, axes = axes }
end

-- The rows of a side are gathered.
local function gathers(best, operands, side)
  local step, other = only_step(best.plans[side], "all_gather"), other_of[side]
  local rows = operands[side].sharding
  if not step or not is_matrix(rows, 2) or not is_matrix(best.shardings[other], 2)
    or not is_matrix(best.shardings.C, mode_of[other]) then
    return nil
  end
  return way_of("gather_matmul", side, axes_after(rows, 1, lists.set(step.axes)))
end

-- Sums are added, and sent to the owners of a side's rows.
local function scatters(best, operands, side)
  local step, other = only_step(best.plans.C, "reduce_scatter"), other_of[side]
  local C = operands.C and operands.C.sharding
  if not step or not is_matrix(best.shardings[side], 2) or not is_matrix(best.shardings[other], 2)
    or not is_matrix(C, mode_of[other]) then
    return nil
  end
  return way_of("matmul_scatter", side, axes_after(C, mode_of[side], lists.set(step.axes)))
end

-- {====== Whether to take one ======

local unreachable = setmetatable({}, { __mode = "k" }) -- by engine: why

-- Elements of the product of a rank whose part is the largest.
local function fills_device(best)
  if not best.n_tiles then
    local l = shape(shardings.part_layout(best.shardings.C))
    best.n_tiles = cdiv(l[1], LEAST_TILE) * cdiv(l[2], LEAST_TILE)
  end
  return best.n_tiles >= devices.n_sms(device())
end

-- Why these tensors and devices have no such kernel.
local function trouble(operands, options)
  local A = operands.A
  if options.config or options.split then
    return "the option " .. (options.config and "config" or "split") .. " is of matmul's kernels"
  elseif #A.sharding.shape > 2 or #operands.B.sharding.shape > 2 then
    return "there are batches"
  elseif not HALVES[A.dtype.name] or operands.B.dtype ~= A.dtype
    or operands.C and operands.C.dtype ~= A.dtype then
    return "it needs f16 or bf16 operands of one type"
  elseif #A.engine.ranks < A.mesh.n then
    return "the ranks are in several processes"
  end
  return unreachable[A.engine] or gathering.device_trouble()
end

local function new_way(best, operands, options)
  for _, find in ipairs { gathers, scatters } do
    for _, side in ipairs { "A", "B" } do
      local way = find(best, operands, side)
      if way and not (way.kernel == "matmul_scatter" and (options.alpha or 1) ~= 1) then
        return way
      end
    end
  end
  return nil, "no collective next to the product is one that a kernel overlaps, with operands "
    .. "contiguous along K"
end

-- The same, found once for a choice: that belongs to the shardings of the operands.
local function find_way(best, operands, options)
  local is_scaled = (options.alpha or 1) ~= 1
  best.ways = best.ways or {}
  best.ways[is_scaled] = best.ways[is_scaled] or table.pack(new_way(best, operands, options))
  return table.unpack(best.ways[is_scaled], 1, 2)
end

--- The way for a choice; nil, and why there is none. `best`: a plan of sharded_matmul.lua.
function M.find(best, operands, options)
  if options.overlap == false then return nil, "overlap is false" end
  local why = trouble(operands, options)
  if why then return nil, why end
  local way, reason = find_way(best, operands, options)
  if not way or options.overlap then return way, reason end
  if not device().sm then return nil, "the CPU engine uses it only with overlap = true" end
  if not fills_device(best) then return nil, "the product is too small" end
  return way
end

-- {====== Running it ======

-- A part of C as the kernel of a side sees it: with the side's rows first.
local function seen_from(side, C, rank)
  local part = C:part(rank)
  if side == "A" then return part end
  local shape, stride = shape(part.layout), stride(part.layout)
  return internal.mesh.view(C.rows[rank], 0,
    layout({ shape[2], shape[1] }, { stride[2], stride[1] }))
end

local function each_rank(C, f) return ranks.run(C.mesh, function(r) return f(r.rank) end) end

local function meet(C) meeting.meet(C, each_rank) end

-- The parts of a rank's group, in the order of the rows.
local function panels_of(x, axes, rank)
  return lists.map(x.mesh:group(rank, axes), function(other) return peers.peer_tensor(x, other) end)
end

local products = setmetatable({}, { __mode = "k" }) -- by C: the last one that was computed

-- Is what belongs to a product kept for the next one? A launch that failed on the CPU engine leaves
-- its flags, and memory made while a graph is recorded is filled when the graph runs.
local function is_kept() return device().sm ~= nil and not internal.launch.graph_recording() end

-- The launches of a product, by rank: those of the last one into C, if it was the same. Else
-- begin() is called, which returns a function: of a rank its step, {kernel =, launch =, args =}, or
-- nil.
local function launches_of(way, x, y, C, alpha, begin)
  local known = is_kept() and products[C]
  if known and known.launches and known.way == way and known.x == x and known.y == y
    and known.alpha == alpha then
    return known.launches
  end
  local step_of = begin()
  local launches = each_rank(C, function(rank)
    local step = step_of(rank)
    return step and step.kernel:prepare(step.launch)(table.unpack(step.args))
  end)
  if is_kept() then
    products[C] = { way = way, x = x, y = y, alpha = alpha, launches = launches }
    for _, t in ipairs { x, y, C } do sharded.note_user(t, products[C]) end
  end
  return launches
end

local function launch_all(C, launches)
  each_rank(C, function(rank)
    if launches[rank] then launches[rank]() end
  end)
end

-- What a rank's steps find out about tensors that are spread like these, kept for a way: by engine
-- and rank, for the alpha of the last one. If C is one of the operands nothing is, so that it is
-- found out again that it must not be.
local function memo_of(way, x, y, C, rank, alpha)
  if rawequal(C, x) or rawequal(C, y) then return nil end
  way.memos = way.memos or setmetatable({}, { __mode = "k" })
  local of_engine = way.memos[C.engine] or {}
  way.memos[C.engine] = of_engine
  local memo = of_engine[rank]
  if not memo or memo.alpha ~= alpha then
    memo = { alpha = alpha }
    of_engine[rank] = memo
  end
  return memo
end

-- x: the tensor whose rows are gathered; y: the other operand.
local function gather(way, x, y, C, options)
  local function step_of(rank)
    local c, place = seen_from(way.side, C, rank), C.mesh:place(rank, way.axes)
    return size(c) > 0 and gathering.step(panels_of(x, way.axes, rank), place, y:part(rank), c,
      { alpha = options.alpha }, memo_of(way, x, y, C, rank, options.alpha or 1))
  end
  local launches = launches_of(way, x, y, C, options.alpha, function() return step_of end)
  meet(C)
  launch_all(C, launches)
  meet(C)
end

local memories = setmetatable({}, { __mode = "k" }) -- by engine, then by axes and type

-- Where memory of the ranks is kept, by rank, or nil. A graph that is recorded uses it, too.
local function keep_of(way, C)
  if not device().sm then return nil end
  local of_engine = memories[C.engine] or {}
  memories[C.engine] = of_engine
  local key = C.dtype.name .. " " .. table.concat(way.axes, " ")
  of_engine[key] = of_engine[key] or {}
  return of_engine[key]
end

local function close_all(memory)
  for _, t in pairs(memory) do t:close() end
end

-- Launches that are kept may use memory that is closed.
local function forget_products()
  for _, known in pairs(products) do known.launches = nil end
end

-- Memory of each rank for workspaces: what was kept, if it is large enough. The launches of a
-- product come after those of earlier ones. What is made while a graph is recorded is filled when
-- the graph runs, so it is kept for nothing else.
local function memory_of(way, C, keep)
  local is_recorded = internal.launch.graph_recording() ~= nil
  local n = C.mesh:span(way.axes)
  return each_rank(C, function(rank)
    local c, memory = seen_from(way.side, C, rank), keep and keep[rank]
    local height, width = size(c, 0), size(c, 1)
    if not memory or not scattering.fits(memory, height, width, n) then
      if memory and not is_recorded then
        forget_products()
        close_all(memory)
      end
      memory = scattering.memory(C.dtype, height, width, n)
    end
    if keep and not is_recorded then keep[rank] = memory end
    return memory
  end)
end

-- The workspaces of a rank's group, as the rank sees them; c: its part of C.
local function seen_by(memory, group, rank, c)
  local list = {}
  for i, other in ipairs(group) do
    local of, is_own = memory[other], other == rank
    list[i] = scattering.space_in({ partial = memory[rank].partial,
      receive = is_own and of.receive or internal.mesh.peer(of.receive),
      flags = is_own and of.flags or internal.mesh.peer(of.flags) },
      size(c, 0), size(c, 1), #group)
  end
  return list
end

-- x: the operand that has C's rows; y: the other one.
local function scatter(way, x, y, C)
  local keep, memory = keep_of(way, C), nil
  local function step_of(rank)
    local c, group = seen_from(way.side, C, rank), C.mesh:group(rank, way.axes)
    return size(c) > 0 and scattering.step(x:part(rank), y:part(rank), c,
      C.mesh:place(rank, way.axes), seen_by(memory, group, rank, c), nil,
      memo_of(way, x, y, C, rank, 1))
  end
  local launches = launches_of(way, x, y, C, nil, function()
    memory = memory_of(way, C, keep)
    return step_of
  end)
  meet(C)
  launch_all(C, launches)
  meet(C)
  if is_kept() then return end
  each_rank(C, function(rank)
    if not keep or memory[rank] ~= keep[rank] then close_all(memory[rank]) end
  end)
end

local reached = setmetatable({}, { __mode = "k" }) -- by tensor whose rows were reached: the axes

-- Whether each rank's device reaches those of its group; else why not, which is noted.
local function reaches(way, x)
  if reached[x] == way.axes then return true end
  local ok, why = pcall(each_rank, x, function(rank) panels_of(x, way.axes, rank) end)
  if not ok then unreachable[x.engine] = tostring(why):match "^[^\n]*" end
  reached[x] = ok and way.axes or nil
  return ok
end

--- Computes C by a way, if the devices reach each other; false: they do not. `given`: the operands
--- as they were; `moved`: as each rank multiplies them, except the side that is gathered.
function M.run(way, given, moved, C, options)
  local x = given[way.side]
  if not reaches(way, x) then return false end
  if way.kernel == "gather_matmul" then
    gather(way, x, moved[other_of[way.side]], C, options)
  else
    scatter(way, moved[way.side], moved[other_of[way.side]], C)
  end
  return true
end

return M
