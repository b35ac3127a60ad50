-- attention_backward_hopper.lua: the gradients of attention on Hopper. A block owns a tile of keys,
-- 64 for each warp group that multiplies, and goes through the queries of all heads that read them.
-- For each tile of queries it computes:
--   S' = K Q', dP' = V dO'      of the group's keys, both transposed, sums in registers
--   P' = exp2(c S' - L), dS' = P' (dP' - D)
--   dV += P' dO, dK += dS' Q    P' and dS', packed in registers, are operands again
--   dQ += dS K                  of all groups' keys: dS by way of shared memory
-- Each group computes a part of dQ: some of the depth or, by_rows, of the queries. It computes the
-- part's transpose, K' dS', so that its stores to shared memory have no bank conflicts. A warp adds
-- the part to a sum in f32 by TMA; in turns, if all runs are to have the same bits: see
-- attention_backward_turns.lua.
-- Such a group is in attention_backward_group.lua; one more loads by TMA. Two more kernels run:
-- before this one, that of attention_backward_rows.lua, and after it one that rounds dQ. Fields of
-- configurations:
--   rows        the queries of a tile, a multiple of 64
--   depth       of a head, at most: TMA loads zeros for what is missing and does not store it;
--               so does it where values have less depth than queries
--   depth_v     by_depth, of a value, at most, where that is another
--   groups      that multiply
--   stages      tiles of Q, and of dO, in shared memory
--   registers   of a thread, {of the group that loads, of those that multiply}
--   by_rows     how dQ is shared among the groups; a part has 64 columns of depth
--   by_depth    sums of dK and dV do not fit a group's registers, so a block owns 64 keys, and
--               each group a part of the depth. A group computes S' and dP' of a part of the
--               queries, of which it takes P' and dS' from registers, and those of the other
--               group from shared memory. A group's part of dQ comes in pieces of 64 columns, or
--               is one of 48 or 96
--   O_stages    tiles of dO by_depth, nil: 1
--   ahead       the scores of the next tile are computed while dQ is added; D = 128 leaves too few
--               registers for that
--   held        columns of V's depth that a group keeps in registers, nil: none. The products dP'
--               then read less of shared memory
--   held_where  "full" or "pairs": only there, as there are too few registers elsewhere
--   held_keys   columns of K's depth in registers. While a product that reads registers waits for
--               the ones before it, so does its group: where S' is not ahead, it waits anyway
--   stay        blocks stay for many tiles of keys, where there are no masks, turns or packed
--               sequences: see attention_backward_walk.lua
--   cut         the last of these tiles, or blocks, are cut into parts: attention_backward_tail.lua
--   idle        where causal, a warp does work of the kernel before for other heads, see
--               attention_backward_idle.lua, and reads so many times 16 bytes of O and dO at once
--   idle_full   not only where causal
--   pair        by_depth, blocks come in pairs that share dQ: see attention_backward_pair.lua
--   late        in pairs, dQ is computed one tile late, where there is room for it
-- For tests, lead and n_sms replace what these modules would choose.
local blocks_of = require "cuttle.attention_blocks"
local group_of = require "cuttle.attention_backward_group"
local half_of = require "cuttle.attention_backward_half"
local idle = require "cuttle.attention_backward_idle"
local packed = require "cuttle.attention_backward_packed"
local pair = require "cuttle.attention_backward_pair"
local part_of = require "cuttle.attention_backward_part"
local rows_of = require "cuttle.attention_backward_rows"
local scores = require "cuttle.attention_score"
local tail_of = require "cuttle.attention_backward_tail"
local tiles_of = require "cuttle.attention_backward_tiles"
local tma = require "cuttle.tma_rules"
local turns = require "cuttle.attention_backward_turns"
local walk = require "cuttle.attention_backward_walk"
local boxes, of_first_lane = tiles_of.boxes, tiles_of.of_first_lane
local each_head, tile_in = tiles_of.each_head, tiles_of.tile_in
local piece_of, pieces = tiles_of.piece_of, tiles_of.pieces
local M = {}

local GROUP <const>, KEYS <const>, WARP <const> = 128, 64, 32
local WIDTH <const> = 8 -- elements of 16 bytes
local THREADS <const> = 256 -- of the kernel that rounds dQ
local SLOTS <const> = 2 -- of dS, and P
local COLUMNS <const> = 64 -- of depth in a part of dQ

local names <const> = { f16 = "F16", bf16 = "BF16" }
local modes <const> = { "S", "D", "H", "B" } -- of the operands and results

function M.n_threads(config) return GROUP * (config.groups + 1) end

function M.trouble(config, p)
  if not names[p.dtype.name] then return "its kernel computes bf16 and f16" end
  local depth_v = config.depth_v or config.depth
  if p.depth > config.depth then
    return ("its kernel computes D up to %d"):format(config.depth)
  elseif p.depth_v > depth_v then
    return ("its kernel computes values up to D = %d"):format(depth_v)
  elseif p.depth % WIDTH ~= 0 or p.depth_v % WIDTH ~= 0 then
    return "its kernel takes multiples of 8 for D"
  end
  if p.n_q == 0 or p.n_k == 0 or p.heads == 0 then return "there are no queries or no keys" end
  for _, name in ipairs { "dO", "dK", "dV", "O", "dQ" } do
    if p[name].dtype ~= p.dtype then
      return ("%s is %s, and its kernel takes Q's type"):format(name, p[name].dtype)
    end
  end
  for _, name in ipairs { "Q", "K", "V", "O", "dO", "dQ", "dK", "dV" } do
    local why = tma.trouble(p[name], name, modes, 2, 0)
    if why then return why end
  end
end

-- The keys of a block.
local function keys_of(config) return config.by_depth and KEYS or KEYS * config.groups end

-- Tiles of keys of a head.
local function n_blocks_of(p, config)
  local n = cdiv(p.n_k, keys_of(config))
  return pair.is_for(p, config) and pair.rounded(n) or n
end

-- The same of all heads.
local function n_tiles_of(p, config)
  return n_blocks_of(p, config) * p.kv_heads * p.batches
end

-- How the last tiles are cut, nil: they are not.
local function tail_plan(p, config)
  return tail_of.plan(p, config, n_tiles_of(p, config), cdiv(p.n_q, config.rows))
end

function M.variant(p, config)
  local fused, is_pair = idle.lead(p, config, n_blocks_of(p, config)) ~= nil, pair.is_for(p, config)
  local holds = { always = true, full = not (p.causal or p.score), pairs = is_pair }
  -- The columns that products S' and dP' read: by_depth, those behind the last one are 0.
  local function columns(d) return config.by_depth and cdiv(d, COLUMNS) * COLUMNS or nil end
  return { fused = fused, read_k = columns(p.depth), read_v = columns(p.depth_v),
           tail = tail_plan(p, config) ~= nil,
           stay = walk.is_for(p, config, n_tiles_of(p, config)),
           pair = is_pair, late = is_pair and config.late or false, depth = config.depth,
           depth_v = config.depth_v or config.depth,
           is_whole = p.sequences == nil and p.n_k % keys_of(config) == 0,
           held = holds[config.held_where or "always"] and config.held }
end

-- {====== What is known before the trace ======

-- The layout with the widest swizzle of which tiles of n columns have whole rows.
local function atom_for(dtype, n)
  local bytes = 128
  while n * dtype.bits // 8 % bytes ~= 0 do bytes = bytes // 2 end
  return gmma_layout(dtype, "K", bytes)
end

local function plan_of(variant)
  local dtype, depth, rows = variant.dtype, variant.depth, variant.rows
  local groups, by_rows, by_depth, depth_v = variant.groups, variant.by_rows, variant.by_depth,
    variant.depth_v
  local keys = keys_of(variant)
  local n, columns = by_rows and rows // groups or rows, by_rows and depth or depth // groups
  local own_rows, own_depth = by_depth and rows // groups or rows, by_depth and columns or depth
  local own_depth_v = by_depth and depth_v // groups or depth_v
  local shares = variant.pair and tiles_of.PAIR or 1
  local parts = by_depth and math.max(1, columns // shares // COLUMNS) or 1
  local kind = ("F32%s%s"):format(names[dtype.name], names[dtype.name])
  local k_major = gmma_layout(dtype, "K", 128)
  local KQ = tiled_mma(("SM90_64x%dx16_%s_SS"):format(own_rows, kind))
  local function sums_of(extent, operands)
    return tiled_mma(("SM90_64x%dx16_%s_%s"):format(extent, kind, operands))
  end
  local operands = by_depth and "SS" or "RS"
  local dK, dV = sums_of(own_depth, operands), sums_of(own_depth_v, operands)
  local store = atom("SM90_U32x4_STSM_N", dtype)
  local held = (variant.held or variant.held_keys)
    and tiled_mma(("SM90_64x%dx16_%s_RS"):format(own_rows, kind))
  local O_stages = by_depth and (variant.O_stages or 1) or variant.stages
  local part, slots = columns // shares // parts, (variant.pair and not variant.late) and 1 or SLOTS
  local dQ, upright = part_of.mma(kind, part, n)
  local for_part, for_depth = atom_for(dtype, part), atom_for(dtype, own_depth)
  local for_depth_v = atom_for(dtype, own_depth_v)
  return {
    held = held, read = held and tiled_copy_A(atom("SM75_U32x4_LDSM_N", dtype), held),
    half = half_of.plan(variant, kind, store),
    hides = not by_depth and rows <= KEYS, -- all of a group's keys, where causal
    keys = keys, columns = part, rows = n, KQ = KQ, dK = dK, dV = dV, parts = parts,
    own_rows = own_rows, own_depth = own_depth, own_depth_v = own_depth_v,
    own_dK = by_depth and sums_of(own_depth, "RS"),
    own_dV = by_depth and sums_of(own_depth_v, "RS"),
    dQ = dQ, upright = upright,
    K = tile_to_shape(for_part, {keys, depth}),
    V = tile_to_shape(depth == depth_v and for_part or for_depth_v, {keys, depth_v}),
    Q = tile_to_shape(for_depth, {rows, depth, variant.stages}),
    dO = tile_to_shape(for_depth_v, {rows, depth_v, O_stages}), O_stages = O_stages,
    dS = tile_to_shape(k_major, {keys, rows, slots}),
    K_other = tile_to_shape(for_part, {keys, depth // shares}),
    P = tile_to_shape(gmma_layout(dtype, "K", 64), {keys, own_rows, 1}), -- of pairs, a group
    sum = tile_to_shape(atom_for(f32, part), {n, part, groups}),
    staged = tile_to_shape(for_depth, {KEYS, own_depth, groups}),
    of_rows = layout({rows, variant.stages}, {1, rows}),
    of_O_rows = layout({rows, O_stages}, {1, rows}),
    store_dS = tiled_copy_C(store, KQ), store_dK = tiled_copy_C(store, dK),
    store_dV = tiled_copy_C(store, dV), group = GROUP, slots = slots,
  }
end

-- Calls f(args) for each tile of keys of the block, in a warp that does not load.
local function each_told(variant, args, smem, f)
  if variant.stay then walk.each_told_tile(variant, args, smem.numbers, f) else f(args) end
end

-- {====== The group that loads ======

-- A tile of K and V, then tiles of queries. `kv`, `state` and `of_O` are the places in the rings.
local function load_tile(variant, plan, args, smem, bars, load, kv, state, of_O)
  local rows, depth, depth_v, batch = variant.rows, variant.depth, variant.depth_v, args.batch
  -- s_other: where half of the depth of the other block's keys goes, in pairs
  local function load_keys(t, s, full, s_other)
    local bytes = (size(s) + (s_other and size(s_other) or 0)) * variant.dtype.bits // 8
    load(bytes, function() return s end, full, args.n_k - args.n * plan.keys, function(bar)
      tma_load(boxes(t, {plan.keys, size(s, 1)}, args.k)(_, _, args.n, 0, args.kv_head, batch), s,
        bar)
      if s_other then
        local others = boxes(t, {plan.keys, depth // tiles_of.PAIR}, args.k)
        tma_load(others(_, _, args.n ~ 1, cluster_rank(), args.kv_head, batch), s_other, bar)
      end
    end)
  end
  local function tile_bytes(n) return rows * (n * variant.dtype.bits // 8 + 4) end -- with L or D
  if kv then bars.K_empty[0]:wait(kv.parity) end
  load_keys(args.K, smem.K, bars.K_full[0], smem.K_other)
  if not variant.pair then
    if kv then bars.V_empty[0]:wait(kv.parity) end
    load_keys(args.V, smem.V, bars.V_full[0])
    if kv then kv:advance() end
  end
  each_head(variant, args, function(head, first, last, list)
    local gQ = boxes(args.Q, {rows, depth}, args.q)(_, _, _, 0, head, batch)
    local gdO = boxes(args.dO, {rows, depth_v}, args.q)(_, _, _, 0, head, batch)
    local gL, gD = tile(tma_tensor(args.L), {rows}, {_})(_, _, head, batch),
      tile(tma_tensor(args.D), {rows}, {_})(_, _, head, batch)
    for m in range(first, last) do
      local number = tile_in(list, m)
      local slot, n_own = state.slot, args.n_q - number * rows
      bars.Q_empty[slot]:wait(state.parity)
      local function own_Q() return smem.Q(_, _, slot) end
      load(tile_bytes(depth), own_Q, bars.Q_full[slot], n_own, function(bar)
        tma_load(gQ(_, _, number), own_Q(), bar)
        if variant.fused and m == first then idle.await(variant, args) end
        tma_load(gL(_, packed.tile_at(args, number)), smem.L(_, slot), bar)
      end)
      if variant.pair and m == first and head == args.kv_head * args.group then
        load_keys(args.V, smem.V, bars.V_full[0])
      end
      if variant.by_depth then slot = of_O.slot end
      bars.dO_empty[slot]:wait(of_O.parity)
      local function own_dO() return smem.dO(_, _, slot) end
      load(tile_bytes(depth_v), own_dO, bars.dO_full[slot], n_own, function(bar)
        tma_load(gdO(_, _, number), own_dO(), bar)
        tma_load(gD(_, packed.tile_at(args, number)), smem.D(_, slot), bar)
      end)
      state:advance()
      if variant.by_depth then of_O:advance() end
    end
  end)
end

local function load_all(variant, plan, args, smem, bars)
  local load = packed.new_load(variant, bars)
  local state = pipeline_state(variant.stages, {parity = 1})
  local of_O = variant.by_depth and pipeline_state(plan.O_stages, {parity = 1}) or state
  local kv = variant.stay and pipeline_state(1, {parity = 1})
  local function load_own(own)
    load_tile(variant, plan, own, smem, bars, load, kv, state, of_O)
  end
  if variant.stay then
    walk.each_tile(variant, args, smem.numbers, load_own)
  else
    load_own(args)
  end
end

-- {====== The warps that add dQ ======

local function add_tile(variant, plan, args, smem)
  local number, is_first = of_first_lane(threadIdx.x // WARP) - 1, threadIdx.x % WARP == 0
  if is_first then idle.await(variant, args) end
  turns.add_all(variant, args, smem.sum, number, GROUP, function(f)
    each_head(variant, args, function(head, first, last, list)
      local gdQ = pieces(plan, args, head)
      for j in range(first, last) do
        local m = tile_in(list, j)
        for i = 0, plan.parts - 1 do
          f(head, m, { packed.tile_at(args, m), number * plan.parts + i },
            piece_of(variant, plan, args, gdQ, number, m, i))
        end
      end
    end)
  end)
end

local function add_all(variant, plan, args, smem)
  each_told(variant, args, smem, function(own)
    add_tile(variant, plan, own, smem)
  end)
end

-- {====== The kernels ======

-- What the block is told of its place in the problem.
local function place_of(variant, args)
  if variant.packed then
    args.kv_head, args.batch = blockIdx.y, blockIdx.z
    for key, value in pairs(packed.read(variant, args.blocks, blockIdx.x, of_first_lane)) do
      args[key] = value
    end
  else
    args.n_q, args.n_k = size(args.Q, 0), size(args.K, 0)
    args.n_blocks, args.kv_heads = cdiv(args.n_k, args.keys), size(args.K, 2)
    if variant.pair then args.n_blocks = pair.rounded(args.n_blocks) end
    if variant.tail then args.n_parts = size(args.parts, 4) end
    if variant.stay then return args end
    if variant.tail then
      local own = tail_of.place(variant, args, tiles_of.of_first_lane(blockIdx.x))
      for key, value in pairs(own) do args[key] = value end
    else
      args.n, args.kv_head, args.batch = tiles_of.own_block(variant, args.group)
    end
    args.b = args.batch
    if variant.deterministic then args.n = gridDim.x - 1 - args.n end
  end
  return args
end

-- The same of pairs: P' that a group reads is where its part of dQ is later, unless dQ is late.
local function pair_memory(variant, plan, smem)
  local dtype, n = variant.dtype, size(plan.sum) // variant.groups
  smem.own_dS = shared(dtype, layout(size(plan.dS)))
  smem.dS = view(smem.own_dS, plan.dS)
  local sums = shared(f32, layout(size(plan.sum)))
  smem.sum = view(sums, plan.sum)
  local own_P = variant.late and shared(dtype, layout(variant.groups * size(plan.P)))
  function smem.P_of(number)
    if own_P then return view(tile(own_P, {size(plan.P)}, {number}), plan.P) end
    return view(recast(tile(sums, {n}, {number}), dtype), plan.P)
  end
  pair.add_memory(variant, plan, smem)
end

-- Memory of dS, P and parts of dQ where blocks stay: dK and dV go out through the same.
local function share_sums(variant, plan, smem)
  local dtype, n = variant.dtype, size(plan.dS)
  local of_scores = shared(dtype, layout(variant.by_depth and 2 * n or n))
  local sums = shared(f32, layout(size(plan.sum)))
  smem.dS, smem.sum = view(tile(of_scores, {n}, {0}), plan.dS), view(sums, plan.sum)
  if variant.by_depth then smem.P = view(tile(of_scores, {n}, {1}), plan.dS) end
  smem.dK, smem.dV = view(of_scores, plan.staged), view(recast(sums, dtype), plan.staged)
end

local function shared_memory(variant, plan)
  local dtype = variant.dtype
  local smem = { K = shared(dtype, plan.K), V = shared(dtype, plan.V),
                 Q = shared(dtype, plan.Q), dO = shared(dtype, plan.dO) }
  if variant.stay then
    share_sums(variant, plan, smem)
  elseif variant.pair then
    pair_memory(variant, plan, smem)
  else
    smem.dS, smem.sum = shared(dtype, plan.dS), shared(f32, plan.sum)
  end
  smem.L, smem.D = shared(f32, plan.of_rows), shared(f32, plan.of_O_rows)
  if variant.by_depth and not (variant.stay or variant.pair) then
    smem.P = shared(dtype, plan.dS)
  end
  return smem
end

local function run_block(variant, plan, args)
  local stages, groups = variant.stages, variant.groups
  args.keys = plan.keys
  args = place_of(variant, args)
  local smem = shared_memory(variant, plan)
  local bars = { K_full = mbarrier(1, 1), V_full = mbarrier(1, 1),
                 Q_full = mbarrier(stages, 1), Q_empty = mbarrier(stages, groups),
                 dO_full = mbarrier(plan.O_stages, 1),
                 dO_empty = mbarrier(plan.O_stages, groups) }
  if variant.packed then bars.part = mbarrier(1, 1) end
  if variant.stay then
    bars.K_empty, bars.V_empty = mbarrier(1, groups), mbarrier(1, groups)
    smem.numbers = walk.new(groups * (1 + GROUP // WARP) + (variant.fused and 1 or 0))
  end
  if variant.fused then smem.idle = idle.buffer(variant) end
  if variant.pair then
    pair.add_bars(bars, plan.slots)
    sync_cluster()
  else
    sync_threads()
  end
  if threadIdx.x < GROUP then
    setmaxnreg(variant.registers[1])
    if packed.is_loader(variant) then
      load_all(variant, plan, args, smem, bars)
    elseif turns.is_one(variant) then
      add_all(variant, plan, args, smem)
    elseif variant.fused and threadIdx.x >= WARP * (1 + groups) then
      each_told(variant, args, smem, function(own) idle.run(variant, own, smem.idle) end)
    elseif variant.pair and pair.is_sender() then
      pair.send_all(variant, plan, args, smem, bars)
    end
  else
    setmaxnreg(variant.registers[2])
    group_of.multiply_all(variant, plan, args, smem, bars)
  end
  if variant.pair then sync_cluster() end -- the other block sends, and arrives at barriers
end

-- What attention_blocks.lua asks for, if it is to list tiles: not where blocks take turns.
local function listed(variant)
  return { score = not variant.deterministic and variant.score or nil, rows = variant.rows,
           keys = keys_of(variant), packed = variant.packed, by_keys = true }
end

local function make_main(variant)
  local plan, name = plan_of(variant), "attention_backward_" .. variant.dtype.name
  if variant.fused or variant.stay or variant.tail then
    return kernel(name, function(Q, K, V, dO, L, D, dQ, dK, dV, group, c, scale, counters, O, LSE,
                                 ready, lead, parts, n_whole)
      run_block(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ, dK = dK,
        dV = dV, group = group, c = c, scale = scale, turns = counters, O = O, LSE = LSE,
        ready = ready, lead = lead, parts = parts, n_whole = n_whole })
    end, {min_blocks = 1})
  elseif variant.score or variant.packed or variant.deterministic then
    return kernel(name, function(Q, K, V, dO, L, D, dQ, dK, dV, group, c, scale, blocks, counters,
                                 ...)
      local list, operands = blocks_of.split(listed(variant), ...)
      run_block(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ, dK = dK,
        dV = dV, group = group, c = c, scale = scale, blocks = blocks, turns = counters,
        list = list, operands = operands })
    end, {min_blocks = 1})
  end
  return kernel(name, function(Q, K, V, dO, L, D, dQ, dK, dV, group, c, scale)
    run_block(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ, dK = dK,
      dV = dV, group = group, c = c, scale = scale })
  end, {min_blocks = 1})
end

-- A thread's WIDTH elements of dQ (S,D,H,B) in row `to`, from row `row` of the sum.
local function round_row(sum, dQ, scale, row, chunk, to)
  local x = fragment(f32, WIDTH)
  copy(tile(sum(row, _, blockIdx.y, blockIdx.z), {WIDTH}, {chunk}), x)
  axpby(scale, x, 0, x)
  copy(cast(x, dQ.dtype), tile(dQ(to, _, blockIdx.y, blockIdx.z), {WIDTH}, {chunk}))
end

local function make_last(variant)
  local name = "attention_backward_dQ"
  if variant.packed then
    return kernel(name, function(sum, dQ, scale, tiles)
      local i, chunks = blockIdx.x * THREADS + threadIdx.x, size(dQ, 1) // WIDTH
      local row, chunk = i // chunks, i % chunks
      if row < size(sum, 0) then
        local to, is_there = packed.row_of(tiles, row, variant.rows)
        if is_there then round_row(sum, dQ, scale, row, chunk, to) end
      end
    end)
  end
  return kernel(name, function(sum, dQ, scale)
    local i, chunks = blockIdx.x * THREADS + threadIdx.x, size(dQ, 1) // WIDTH
    local row, chunk = i // chunks, i % chunks
    if row < size(dQ, 0) then round_row(sum, dQ, scale, row, chunk, row) end
  end)
end

function M.make(variant)
  return { main = make_main(variant), last = make_last(variant),
           parts = variant.tail and tail_of.make { keys = keys_of(variant), pair = variant.pair } }
end

-- {====== The launches ======

function M.plan(p, kernels, variant)
  local sum = rows_of.new_sum(p, variant.rows)
  local n_keys = keys_of(variant)
  local n_tiles, counters = rows_of.n_tiles(p, variant.rows), nil
  if p.deterministic then
    local n_parts = variant.groups * plan_of(variant).parts
    counters = rows_of.new(p, { n_tiles, n_parts, p.heads, p.batches }, i32)
  end
  local n_blocks, fused = n_blocks_of(p, variant), nil
  if variant.fused or variant.stay or variant.tail then
    local heads = p.kv_heads * p.batches
    fused = { lead = variant.fused and idle.lead(p, variant, n_blocks) or heads,
              ready = rows_of.new(p, { heads + 1 }, i32) }
  end
  local before, L, D = rows_of.step(p, variant.rows, WIDTH, sum, counters, fused)
  local function mapped(t) return tma.mapped(t, 2) end
  local args = { mapped(p.Q), mapped(p.K), mapped(p.V), mapped(p.dO), L, D, mapped(sum),
                 mapped(p.dK), mapped(p.dV), p.heads // p.kv_heads, scores.factor(p),
                 f32(p.scale) }
  local of_last = { sum, p.dQ, f32(p.scale) }
  if p.sequences then
    local blocks = packed.blocks(p, "n_k", n_keys, variant.rows)
    n_blocks = size(blocks, 1)
    args[13], of_last[4] = blocks, packed.tiles(p, variant.rows)
  end
  local tail, parts
  if fused then
    if variant.tail then
      tail = tail_plan(p, variant)
      parts = tail_of.new_parts(p, variant, n_keys, tail)
    end
    table.move({ counters or L, p.O, p.LSE, fused.ready, i32(fused.lead), parts or L,
                 i32(tail and tail.whole or 0) }, 1, 7, 13, args)
  elseif p.sequences or p.deterministic or p.score then
    args[13], args[14] = args[13] or L, counters or L
  end
  for _, x in ipairs { blocks_of.operands(p, listed(variant)) } do args[#args + 1] = x end
  local grid = { n_blocks, p.kv_heads, p.batches }
  if tail then grid = { tail.whole + tail.blocks * tail.parts, 1, 1 } end
  if variant.stay then grid = { walk.n_blocks(p, variant) } end
  return { before,
    { kernel = kernels.main,
      launch = { grid = grid, block = M.n_threads(variant), stream = p.stream,
                 cooperative = variant.stay and variant.fused or nil,
                 cluster = variant.pair and tiles_of.PAIR or nil,
                 deterministic = p.deterministic or nil },
      args = args },
    { kernel = kernels.last,
      launch = { grid = { cdiv(size(sum, 0) * (p.depth // WIDTH), THREADS), p.heads, p.batches },
                 block = THREADS, stream = p.stream },
      args = of_last },
    tail and tail_of.step(p, kernels.parts, n_keys, tail, parts) }
end

return M
