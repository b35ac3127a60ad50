-- sharded_attention.lua: attention of sharded tensors Q, K, V (B,H,S,D). Batches and heads are
-- independent: each rank has its own. Over the axes of Q's sequence, keys and values go around a
-- ring: a rank sees one block of them at a time, gets the block's result with its LSE, and adds it
-- to what it has. So no rank ever holds the whole sequence. Blocks that a causal mask hides are
-- passed on without being looked at. The sums are f32; the order of blocks depends on the rank.
local internal = ...
local arguments = require "cuttle.arguments"
local planning = require "cuttle.plan"
local sharded = require "cuttle.sharded"
local shardings = require "cuttle.sharding"
local tiles = require "cuttle.tiles"
local M = {}

local SEQUENCE <const>, DEPTH <const> = 3, 4 -- modes S and D, from 1
local letters <const> = { "B", "H", "S", "D" }
local THREADS <const> = 128

local function fail(format, ...) tiles.fail("attention", format, ...) end

-- {====== Arguments ======

local known_options <const> = { "causal", "config", "scale" }

local function check_operand(x, name)
  if not sharded.is_sharded(x) then
    fail("%s is not sharded, but another operand is; spread it too, as m:shard(%s, \"(_,_,_,_)\"), "
      .. "which replicates it", name, name)
  end
  sharded.check(x, "attention")
  if #x.sharding.shape ~= #letters then
    fail("%s has %d modes; expected (B,H,S,D)", name, #x.sharding.shape)
  end
end

local function check_alike(q, other, name)
  if other.mesh ~= q.mesh then fail("Q is on %s, %s is on %s", q.mesh, name, other.mesh) end
  if other.dtype ~= q.dtype then
    fail("Q is %s but %s is %s; the element types must be equal", q.dtype, name, other.dtype)
  end
end

local function read(Q, K, V, options)
  local operands = { Q = Q, K = K, V = V }
  for _, name in ipairs { "Q", "K", "V" } do check_operand(operands[name], name) end
  for _, name in ipairs { "K", "V" } do check_alike(Q, operands[name], name) end
  sharded.check_outside("attention")
  options = arguments.options("attention", options, known_options, "{causal = true}")
  local n_q, n_k = Q.sharding.shape[SEQUENCE], K.sharding.shape[SEQUENCE]
  local depth, depth_v = K.sharding.shape[DEPTH], V.sharding.shape[DEPTH]
  if depth ~= depth_v then
    fail("the depth of K is %d and that of V %d; sharded tensors must have one depth", depth,
      depth_v)
  elseif options.causal and n_q ~= n_k then
    fail("Q has %d rows and K has %d; with causal, sharded sequences must have one length", n_q,
      n_k)
  end
  return options
end

-- {====== How the operands are spread meanwhile ======

-- The axes of a mode in the order in which blocks count them: the last one's blocks are largest.
local function axes_of(s, mode)
  local axes = {}
  for _, f in ipairs(s.modes[mode]) do
    if f.axis then axes[#axes + 1] = f.axis end
  end
  return axes
end

-- The factors of consecutive blocks of a mode.
local function blocks(mesh, n, axes)
  local ranks, factors = mesh:span(axes), {}
  if #axes == 0 then ranks = 1 end
  factors[1] = { extent = cdiv(n, ranks), key = 0 }
  for _, axis in ipairs(axes) do
    factors[#factors + 1] = { extent = mesh.extent[axis], axis = axis }
  end
  return factors
end

local function check_heads(s, n, name)
  local ranks = 1
  for _, axis in ipairs(axes_of(s, 2)) do ranks = ranks * s.mesh.extent[axis] end
  if n % ranks ~= 0 then
    fail("%s has %d heads on %d ranks; expected a multiple, so that each rank has whole groups",
      name, n, ranks)
  end
end

-- Q's axes, in blocks, for a tensor of these extents; rows of D are contiguous.
local function like_query(q, x)
  local modes, shape = {}, x.sharding.shape
  for i = 1, #letters do
    modes[i] = blocks(q.mesh, shape[i], i == #letters and {} or axes_of(q, i))
    modes[i][1].key = #letters - i
  end
  return shardings.arranged(q.mesh, shape, x.sharding.names, modes, {})
end

local function moved(x, s)
  local plan = planning.plan(x.sharding, s, x.dtype.bytes, nil, "attention")
  return #plan.steps > 0 and sharded.run_plan(x, plan) or x
end

-- {====== Adding a block's result ======

-- (B,H,S,D): o is (B,H,S,D), lse (B,H,S). After it o and lse are those of both sets of keys.
local add_block = kernel("attention_add_block", function(o, lse, part, part_lse)
  local row = blockIdx.x
  local before, now = lse[row], part_lse[row]
  local most = max(before, now)
  if most > -math.huge then
    local total = most + log(exp(before - most) + exp(now - most))
    local keep, add = exp(before - total), exp(now - total)
    sync_threads()
    if threadIdx.x == 0 then lse[row] = total end
    for i in range(threadIdx.x, size(o, 1), THREADS) do
      o[{ row, i }] = keep * o[{ row, i }] + add * part[{ row, i }]
    end
  end
end)

-- Both have the same modes; D of `to` is contiguous.
local narrow = kernel("attention_narrow", function(from, to)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(to) then to[i] = cast(from[i], to.dtype) end
end)

-- (rows, D) of a row-major (B,H,S,D).
local function rows_of(t, depth)
  local rows = size(t) // depth
  return view(t, layout({ rows, depth }, { depth, 1 }))
end

-- {====== One rank ======

-- A rank's keys and values now, as rows, and two pairs of rows for those that come.
local function new_ring(w, rank, turns)
  local ring = { k = w.k.rows[rank], v = w.v.rows[rank], spare = {} }
  local function beside(row) return internal.mesh.tensor(row.dtype, size(row), row.device, rank) end
  for i = 1, math.min(turns - 1, 2) do
    ring.spare[i] = { k = beside(ring.k), v = beside(ring.v) }
  end
  return ring
end

-- The valid part of a row that came from another rank.
local function view_of(x, row, from)
  return internal.mesh.view(row, 0, shardings.part_view(x.sharding, from))
end

-- Adds a block's result to the state; its memory is given back, which may be large.
local function add(state, out, lse)
  local n, depth = size(lse), size(out, 3)
  local part <close> = rows_of(out, depth)
  local part_lse <close> = view(lse, n)
  local sums <close> = rows_of(state.o, depth)
  local sums_lse <close> = view(state.lse, n)
  add_block { grid = n, block = THREADS }(sums, sums_lse, part, part_lse)
  out:close()
  lse:close()
end

local function attend(w, rank, from, ring)
  local q = w.q:part(rank)
  local k <close> = view_of(w.k, ring.k, from)
  local v <close> = view_of(w.v, ring.v, from)
  if size(q) == 0 or size(k) == 0 then return end
  local state = w.states[rank]
  local options = { scale = w.options.scale, config = w.options.config,
                    causal = w.options.causal and from == rank }
  local function new(dtype, shape)
    local row <close> = internal.mesh.tensor(dtype, size(layout(shape)), q.device, rank)
    return view(row, row_major(shape))
  end
  local shape = { size(q, 0), size(q, 1), size(q, 2), size(q, 3) }
  local lse_shape = { shape[1], shape[2], shape[3] }
  options.out, options.lse = new(f32, shape), new(f32, lse_shape)
  attention(q, k, v, options)
  if not state.o then
    state.o, state.lse = options.out, options.lse
    return
  end
  add(state, options.out, options.lse)
end

-- {====== All ranks ======

-- Is the block of `from` hidden from the queries of `rank`?
local function is_hidden(w, place, from_place) return w.options.causal and from_place > place end

local function messages(k, v, peer)
  return { { rank = peer, row = k, at = 0, n = size(k) },
           { rank = peer, row = v, at = 0, n = size(v) } }
end

-- Before turn number `turn` each rank sends what it has to the next one.
local function pass_on(w, turn)
  local calls = {}
  for _, rank in ipairs(w.q.engine.ranks) do
    local group, place, ring = w.group_of(rank), w.place_of(rank), w.rings[rank]
    local spare, g = ring.spare[turn % 2 + 1] or ring.spare[1], #group
    calls[#calls + 1] = { rank = rank, group = group,
      sends = messages(ring.k, ring.v, group[(place + 1) % g + 1]),
      recvs = messages(spare.k, spare.v, group[(place - 1) % g + 1]) }
    ring.k, ring.v = spare.k, spare.v
  end
  w.q.engine:run("send_recv", calls)
end

local function go_around(w, turns)
  for turn = 0, turns - 1 do
    if turn > 0 then pass_on(w, turn) end
    for _, rank in ipairs(w.q.engine.ranks) do
      local place = w.place_of(rank)
      local from = (place - turn) % turns
      if not is_hidden(w, place, from) then
        attend(w, rank, w.group_of(rank)[from + 1], w.rings[rank])
      end
    end
  end
end

local function finish(w, out)
  for _, rank in ipairs(w.q.engine.ranks) do
    local state, part = w.states[rank], out:part(rank)
    if state.o then
      narrow { grid = cdiv(size(part), THREADS), block = THREADS }(state.o, part)
      state.o:close()
      state.lse:close()
    end
    for _, spare in ipairs(w.rings[rank].spare) do
      spare.k:close()
      spare.v:close()
    end
  end
end

-- The ranks among which a sequence lies, in the order of its blocks.
local function add_groups(w)
  local mesh, axes = w.q.mesh, axes_of(w.q.sharding, SEQUENCE)
  if #axes == 0 then
    function w.group_of(rank) return { rank } end
    function w.place_of() return 0 end
    return 1
  end
  function w.group_of(rank) return mesh:group(rank, axes) end
  function w.place_of(rank) return mesh:place(rank, axes) end
  return mesh:span(axes)
end

--- attention(Q, K, V[, options]) of sharded tensors -> O, spread as Q is.
function M.attention(Q, K, V, options)
  options = read(Q, K, V, options)
  local q = moved(Q, like_query(Q.sharding, Q))
  check_heads(q.sharding, K.sharding.shape[2], "K")
  check_heads(q.sharding, Q.sharding.shape[2], "Q")
  local k, v = moved(K, like_query(q.sharding, K)), moved(V, like_query(q.sharding, V))
  local w = { q = q, k = k, v = v, options = options, states = {}, rings = {} }
  local turns = add_groups(w)
  for _, rank in ipairs(q.engine.ranks) do
    w.states[rank], w.rings[rank] = {}, new_ring(w, rank, turns)
  end
  go_around(w, turns)
  local out = sharded.new(q.engine, Q.dtype, q.sharding)
  finish(w, out)
  for x, given in pairs { [q] = Q, [k] = K, [v] = V } do
    if x ~= given then x:close() end
  end
  return out
end

return M
