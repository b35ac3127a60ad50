-- gemm_packed_hopper.lua: products of f16 or bf16 and packed weights (packed_weights.lua) of more
-- rows than gemm_packed.lua takes, on Hopper: wgmma with the weight as operand A in registers. Each
-- lane brings its own codes and scales by cp.async. It makes numbers of them, times the scale and
-- rounded, while the products of the step before run. TMA brings activations, whose K a small
-- kernel has put in the order of the codes before (M.order). Blocks stay for many tiles.
-- Of activations of 8 bits numbers become such without the scale, which is exact; each group's
-- products are added in sums of their own, that are scaled in f32 and added to the others.
-- In groups of rows each has a weight. The small kernel then also gathers rows by an index, and
-- threads store C, as rows that follow are another group's.
-- Fields of its configurations, beside those that matmul.lua lists and those of the weights that
-- gemm_packed.lua does:
--   groups   warp groups that multiply, each 64 rows of the weight: tile {64 groups, columns,
--            128 bytes of K}
--   lines    of 128 bytes of K in a step, 1 if that is absent: the tile's K
--   stages   steps of K of activations in shared memory
--   depth    the same of codes
--   registers  of a thread, {of the group that loads, of those that multiply}
--   pdl, min_blocks  as in gemm_packed.lua
--   parts    of the columns, with activations of 8 bits: each is multiplied into sums of its own
--   k_blocks  blocks of a cluster that share a tile, as in gemm_hopper.lua
--   turn      steps of a turn of the loop over K, which divide those of a block: 2, or a multiple
--             of stages and depth, whose addresses are constants then
--   odd       a step follows the last turn of 2
--   orders    with glu: C is stored in the order of the codes of a weight that multiplies it next
local grouping = require "cuttle.gemm_groups"
local indexed = require "cuttle.gemm_indexed"
local formats = require "cuttle.packed_formats"
local hopper = require "cuttle.gemm_hopper_multiply"
local operands = require "cuttle.packed_operands"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local rasters = require "cuttle.raster"
local stores = require "cuttle.gemm_packed_hopper_store"
local tma = require "cuttle.tma_rules"
local n_sms = require "cuttle.profile_device".n_sms
local M = {}

local GROUP <const>, WARP <const>, ROWS <const>, STRIP <const> = 128, 32, 64, 16
local STEP_BITS <const> = 1024 -- of activations
local TILE <const> = 16 -- elements of K of a tile of codes
local TOGETHER <const> = 16 -- rows of tiles
local FIRST_ID <const> = 1 -- of the groups' named barriers
local PASS <const> = 64 -- columns of C that are stored at a time
local LEAST <const>, MOST <const> = 64, 128 -- columns, where fewer may be multiplied
local AHEAD <const> = 64 -- columns of a part of which two have sums of their own
local kinds <const> = { -- atoms and their K
  f16 = { "16_F32F16F16_RS", 16 }, bf16 = { "16_F32BF16BF16_RS", 16 },
  f8e4m3 = { "32_F32E4M3E4M3_RS_TN", 32 }, i8 = { "32_S32S8S8_RS_TN", 32 },
}

--- Elements of K of a step of a configuration.
function M.step(dtype, config) return STEP_BITS // dtype.bits * (config and config.lines or 1) end

--- One warp of the last warp group loads.
function M.n_threads(config) return GROUP * (config.groups + 1) end

--- Blocks that stay, as many as there are multiprocessors.
function M.grid(config, m, n, l, groups)
  local columns = groups and grouping.most_tiles(n, groups.n, config.tile[2])
    or cdiv(n, config.tile[2])
  local tiles = cdiv(m, config.tile[1]) * columns
  if config.k_blocks then return { tiles * config.k_blocks, 1, l } end
  return { math.min(tiles, n_sms(device()) * (config.min_blocks or 1)), 1, l }
end

--- What the kernel takes; p.ordered are the activations in the order of the codes.
function M.args(config, p) -- luacheck: ignore 212
  local w = p.packed
  return { w.codes, w.scales, w.zeros or w.codes, tma.with_strides(p.ordered, 2),
           tma.with_strides((p.pairs_C or p.C)(_, _, 0), 1) }
end

-- {====== The order of K ======

local THREADS <const> = 256
local WIDE <const> = 4 -- words of an access

-- Of 32 elements of K, or n words, each lane has n / 4 in its registers: words (n / 4) c + i become
-- words 4 i + c. Bytes 1 and 2 of a word change place, as codes have. A thread reads four words
-- and writes four others of a row; per_row: accesses of a row; has_index: what follows is which
-- rows of X.
local function make_order(n, has_index)
  return kernel("order_activations", function(X, out, per_row, ...)
    local own, at = shared(u32, WIDE * THREADS), blockIdx.y * THREADS + threadIdx.x
    local m, index, words, to = blockIdx.x, ..., recast(X, u32), recast(out, u32)
    local from, made = fragment(u32, WIDE), fragment(u32, WIDE)
    grid_dependency_launch() -- the product loads its weight meanwhile
    grid_dependency_wait()
    if at < per_row then
      local row = has_index and index[m] or m
      clear(from)
      if not has_index or row >= 0 and row < size(X, 0) then
        copy(tile(words, {1, WIDE}, {row, at})(0, _), from)
      end
      copy(from, view(own, layout{WIDE}, WIDE * threadIdx.x))
    end
    sync_threads()
    if at < per_row then
      local first = WIDE * threadIdx.x // n * n
      for c = 0, WIDE - 1 do
        local word = own[first + n // WIDE * c + WIDE * threadIdx.x % n // WIDE]
        made[c] = n == 8 and byte_perm(word, word, 0x3120) or word
      end
      copy(made, tile(to, {1, WIDE}, {m, at})(0, _))
    end
  end)
end

local order_kernels <const> = { [8] = make_order(8), [16] = make_order(16) }
local gather_kernels <const> = { [8] = make_order(8, true), [16] = make_order(16, true) }

--- The step that writes activations (M,K), or rows of these by an index, to `out`, row-major, in
--- the order of the codes.
function M.order(X, out, stream, index)
  local per_row = size(X, 1) * X.dtype.bits // (WIDE * u32.bits)
  return { kernel = (index and gather_kernels or order_kernels)[X.dtype.bits],
           args = { X, out, per_row, index },
           launch = { grid = { size(out, 0), cdiv(per_row, THREADS) }, block = THREADS, pdl = true,
                      stream = stream } }
end

-- {====== Before the trace ======

-- How many columns of a tile are multiplied: LEAST, where a group has no more, or all. With more of
-- them threads would spill registers.
local function widths_of(columns)
  return columns > LEAST and columns <= MOST and { LEAST, columns } or { columns }
end

local function plan_of(variant)
  local format, dtype = formats.formats[variant.format], variant.dtype
  local columns, groups, k_blocks = variant.tile[2], variant.groups, variant.k_blocks or 1
  local pass, step = math.min(PASS, columns // k_blocks), M.step(dtype, variant)
  while columns // k_blocks % pass ~= 0 do pass = pass // 2 end
  local kind, deep = table.unpack(kinds[dtype.name])
  local parts = variant.parts or 1
  local plan = { format = format, unit = formats.unit(format), groups = groups,
    columns = columns, k_blocks = k_blocks, stored_columns = columns // k_blocks,
    spans = math.max(step // formats.span(variant.rows_of_group), 1), pass = pass,
    mma = tiled_mma(("SM90_64x%dx%s"):format(columns, kind), {groups, 1, 1}), parts = parts,
    part_mma = tiled_mma(("SM90_64x%dx%s"):format(columns // parts, kind), {groups, 1, 1}),
    like = tiled_mma(("SM90_64x%dx%s"):format(pass, kind)), step = step, deep = deep,
    promotes = dtype.bits == 8, -- scales are of sums, and not of numbers
    turn = variant.turn or 2,
    acts = tile_to_shape(gmma_layout(dtype, "K", 128), {columns, step, variant.stages}) }
  plan.is_fixed = plan.turn % variant.stages == 0 and plan.turn % variant.depth == 0
    and not variant.odd
  plan.units = step // plan.unit
  plan.codes = layout{4, GROUP, plan.units, variant.depth, groups}
  plan.scales = layout{variant.dtype_of_scales.bits // 16, GROUP, plan.spans, variant.depth, groups}
  plan.zeros = layout{1, GROUP, plan.spans, variant.depth, groups}
  plan.widths, plan.mmas = { columns }, {}
  if variant.grouped then plan.widths = widths_of(columns) end
  for i, n in ipairs(plan.widths) do
    plan.mmas[i] = tiled_mma(("SM90_64x%dx%s"):format(n, kind), {groups, 1, 1})
  end
  stores.plan(variant, plan)
  plan.bytes = columns * step * dtype.bits // 8
  return plan
end

-- {====== Codes ======

-- Where the lane's codes and scales of a strip of rows begin.
local function start_of(lane, row, group)
  local args = lane.args
  local strip = min(row * (ROWS // STRIP) + lane.warp, args.n_strips - 1)
  if group then strip = strip + group.g * args.n_strips end
  return { codes = strip * args.n_units * WARP + lane.lane,
           scales = strip * args.n_groups * 8 + lane.lane // 4 }
end

-- Codes and scales of the lane's step of K are on their way to a stage.
local function bring(lane, start, step, stage)
  local plan, args = lane.plan, lane.args
  local k = lane.k_first and step + lane.k_first or step
  for u = 0, plan.units - 1 do
    copy(args.codes(_, start.codes + (k * plan.units + u) * WARP), lane.codes(_, u, stage))
  end
  for v = 0, plan.spans - 1 do
    local at = start.scales + 8 * formats.group_of(args.group,
      k * plan.step + v * (plan.step // plan.spans), lane.lane)
    copy(args.scales(_, at), lane.scales(_, v, stage))
    if lane.zeros then copy(args.zeros(_, at), lane.zeros(_, v, stage)) end
  end
end

-- Calls f(t, words, zero, v) for tiles of a stage: the four words of the tile's unit, and what
-- zeros(pair) returns for the zero points of its span v.
local function each_tile_of(lane, stage, zeros, f)
  local plan = lane.plan
  local tiles, words = plan.step // TILE, fragment(u32, 4)
  local of_span = tiles // plan.spans
  local zero
  for t = 0, tiles - 1 do
    local v = t // of_span
    if t % of_span == 0 then
      local pair
      if lane.zeros then pair = lane.zeros[{0, v, stage}] end
      zero = zeros(pair)
    end
    if t % plan.format.tiles == 0 then
      copy(lane.codes(_, t // plan.format.tiles, stage), words)
    end
    f(t, words, zero, v)
  end
end

-- The lane's numbers of a stage, times their scales, to operand A (8,1,4).
local function make_scaled(lane, stage, A)
  local plan, factors, before = lane.plan, nil, nil
  local function zeros(pair) return plan.format.zeros(lane.variant.dtype, pair) end
  each_tile_of(lane, stage, zeros, function(t, words, zero, v)
    if v ~= before then factors, before = { formats.spread(lane.scales[{0, v, stage}]) }, v end
    operands.scaled(plan.format, lane.variant.dtype, words, t % plan.format.tiles, zero, factors,
      A(_, 0, t))
  end)
end

-- The same without scales, of 8 bits, to operand A (16,1,4), and the scales to factors (2,spans).
local function make_narrow(lane, stage, A, factors)
  local plan, variant = lane.plan, lane.variant
  local made, unit = fragment(u32, {4, size(A, 2)}), plan.format.narrow[variant.dtype.name].unit
  each_tile_of(lane, stage, plan.format.narrow_zeros, function(t, words, zero)
    local first, i = t % 2 * 2, t // 2
    made[{first, i}], made[{first + 1, i}] =
      operands.narrow(plan.format, variant.dtype, words, t % plan.format.tiles, zero)
  end)
  copy(view(recast(made, variant.dtype), A.layout), A)
  for v = 0, plan.spans - 1 do
    local upper, lower = operands.scales(variant.dtype_of_scales, function(i)
      return lane.scales[{i, v, stage}]
    end)
    factors[{0, v}], factors[{1, v}] = upper * unit, lower * unit
  end
end

local function make_numbers(lane, stage, held)
  if lane.plan.promotes then
    make_narrow(lane, stage, held.A, held.factors)
  else
    make_scaled(lane, stage, held.A)
  end
end

-- What is multiplied in one of two turns.
local function new_held(variant, plan)
  return { A = fragment(variant.dtype, {ROWS * plan.deep // GROUP, 1, plan.step // plan.deep}),
           factors = plan.promotes and fragment(f32, {2, plan.spans}) }
end

-- {====== The groups that multiply ======

local function new_lane(variant, plan, args, rings, group, k_first)
  local i = threadIdx.x % GROUP
  return { variant = variant, k_first = k_first, plan = plan, args = args, lane = i % WARP,
    warp = i // WARP,
    together = named_barrier(FIRST_ID + group, GROUP),
    stored = plan.stored and rings.stored(_, _, _, group),
    codes = rings.codes(_, i, _, _, group), scales = rings.scales(_, i, _, _, group),
    zeros = variant.has_zeros and rings.zeros(_, i, _, _, group) }
end

-- The numbers of step k, which is in that stage, and codes of a later one are on their way.
local function take(lane, block, start, k, stage, held)
  local depth = lane.variant.depth
  cp_async_wait(depth - 2)
  make_numbers(lane, stage, held)
  if k + depth - 1 < block.k_tiles then
    bring(lane, start, k + depth - 1, (stage + depth - 1) % depth)
  end
  cp_async_commit()
end

-- Calls f(k, s, slot, parity, stage) for the steps of K of a tile: s counts those of a turn, slot
-- and stage are where its activations and codes are.
local function each_step(lane, block, state, f)
  local plan, stages, depth = lane.plan, lane.variant.stages, lane.variant.depth
  local function step(k, s)
    f(k, s, state.slot, state.parity, k % depth)
    state:advance()
  end
  for turn in range(block.k_tiles // plan.turn) do
    for s = 0, plan.turn - 1 do
      local k = plan.turn * turn + s
      if plan.is_fixed then
        f(k, s, s % stages, state.parity ~ s // stages % 2, s % depth)
      else
        step(k, s)
      end
    end
    if plan.is_fixed then state:advance(plan.turn) end
  end
  if lane.variant.odd then step(block.k_tiles - 1, 0) end
end

local function release(block, slot)
  if threadIdx.x % GROUP == 0 then block.empty[slot]:arrive() end
end

-- Adds the sums of span v and of part p of the columns, times its scales, to all: of a thread's,
-- pairs are of rows g and g + 8.
local function promote(some, factors, v, p, sums)
  for i = 0, size(some) - 1 do
    local at = p * size(some) + i
    sums[at] = fma(cast(some[i], f32), factors[{i // 2 % 2, v}], sums[at])
  end
end

-- Of an operand (V,MN,K) one of MN and part v of n of K.
local function part_of(x, row, v, n)
  return tile(x, {size(x, 0), 1, size(x, 2) // n}, {0, row, v})
end

-- The sums of a tile, whose codes up to the ring's depth are on their way, each group's apart, and
-- parts of the columns one after another: while the sums of one are scaled and added, the products
-- of the next run. While the first run, the numbers of the next step are made.
local function multiply_apart(lane, block, state, start, tCsX, sums, held)
  local plan, dtype = lane.plan, lane.variant.dtype
  local some, last = {}, plan.spans * plan.parts - 1
  local ahead = plan.parts > 1 and plan.columns // plan.parts <= AHEAD and 1 or 0
  for i = 0, ahead do
    some[i] = fragment(dtype == i8 and i32 or f32, { size(sums) // plan.parts, 1, 1 })
  end
  local function begin(i, own, slot)
    local v, p = i // plan.parts, i % plan.parts
    wgmma_fence()
    gemm(plan.part_mma, part_of(own.A, 0, v, plan.spans),
      part_of(tCsX(_, _, _, slot), p, v, plan.spans), some[i % (ahead + 1)], {accumulate = false})
    wgmma_commit()
  end
  clear(sums)
  take(lane, block, start, 0, 0, held[0])
  each_step(lane, block, state, function(k, s, slot, parity, stage)
    local own, next_stage = held[s % 2], (stage + 1) % lane.variant.depth
    block.full[slot]:wait(parity)
    for i = 0, last do
      for j = i == 0 and 0 or i + ahead, math.min(i + ahead, last) do begin(j, own, slot) end
      if i == 0 and k + 1 < block.k_tiles then
        take(lane, block, start, k + 1, next_stage, held[1 - s % 2])
      end
      wgmma_wait(math.min(ahead, last - i))
      if i == last then release(block, slot) end
      promote(some[i % (ahead + 1)], own.factors, i // plan.parts, i % plan.parts, sums)
    end
  end)
end

-- The same where numbers have their scales, of the first columns that the instruction has.
local function multiply(lane, block, state, start, way, held)
  local before = 0
  each_step(lane, block, state, function(k, s, slot, parity, stage)
    take(lane, block, start, k, stage, held[s % 2])
    block.full[slot]:wait(parity)
    wgmma_fence()
    gemm(way.mma, held[s % 2].A, part_of(way.tCsX(_, _, _, slot), 0, 0, 1), way.sums,
      {accumulate = k > 0})
    wgmma_commit()
    wgmma_wait(1)
    if k > 0 then release(block, before) end
    before = slot
  end)
  wgmma_wait(0)
  release(block, before)
end

-- Calls f(row, column, group) of the block's tiles: columns first, which share the weight; of many
-- columns some rows of tiles at a time.
local function each_tile(block, f)
  if block.way then
    grouping.each_tile(block.way, blockIdx.x, gridDim.x, function(group, i)
      local n_columns = cdiv(group.rows, block.way.rows)
      f(i // n_columns, i % n_columns, group)
    end)
    return
  end
  if block.tile ~= nil then
    f(block.tile // block.n_columns, block.tile % block.n_columns)
    return
  end
  for i in range(blockIdx.x, block.n_tiles, gridDim.x) do
    if block.in_groups then
      f(rasters.place({ tiles = block.tiles, order = "groups", group = TOGETHER }, i))
    else
      f(i // block.n_columns, i % block.n_columns)
    end
  end
end

-- Codes of a tile's first steps are on their way.
local function bring_first(lane, block, start)
  for k = 0, lane.variant.depth - 2 do
    if k < block.k_tiles then bring(lane, start, k, k) end
    cp_async_commit()
  end
end

-- What multiplies all columns of a tile, and before it in the list what multiplies the first ones
-- only, for a group's last tile: {columns =, mma =, tCsX =, sums =}.
local function ways_of(plan, rings, sums)
  local ways = {}
  for i, mma in ipairs(plan.mmas) do
    local columns = plan.widths[i]
    ways[i] = { columns = columns, mma = mma,
      tCsX = mma:get_slice(threadIdx.x):partition_B(rings.acts),
      sums = tile(sums, {size(sums) * columns // plan.columns, 1, 1}, {0, 0, 0}) }
  end
  return ways
end

local function multiply_all(variant, plan, args, rings, block, C, ending)
  local group = shfl_idx(threadIdx.x // GROUP, 0)
  local lane = new_lane(variant, plan, args, rings, group, block.k_first)
  local sums = fragment(f32, plan.mma:partition_shape_C{variant.tile[1], plan.columns})
  local held = { [0] = new_held(variant, plan), new_held(variant, plan) }
  local tCsX = plan.part_mma:get_slice(threadIdx.x):partition_B(rings.acts)
  local state = pipeline_state(variant.stages)
  local ways = ways_of(plan, rings, sums)
  -- Of the narrowest instruction with all of the columns that are left of the group.
  local function multiply_by(i, start, left)
    local way = ways[i]
    if i == #ways or left <= way.columns then
      return multiply(lane, block, state, start, way, held)
    end
    multiply_by(i + 1, start, left)
  end
  local function compute(start, left)
    if plan.promotes then
      multiply_apart(lane, block, state, start, tCsX, sums, held)
    else
      multiply_by(left and 1 or #ways, start, left)
    end
    cp_async_wait(0)
  end
  -- Of groups a tile is stored while codes of the next one are on their way.
  local n, before = 0, { row = 0, column = 0, g = 0, first = 0, rows = 0 }
  local function store_before()
    if n > 0 then stores.store(lane, C, before.row, before.column, sums, ending, before) end
  end
  each_tile(block, function(row, column, part)
    local own = row * plan.groups + group
    local start = start_of(lane, own, part)
    bring_first(lane, block, start)
    if part then
      store_before()
      n, before.row, before.column = n + 1, own, column
      before.g, before.first, before.rows = part.g, part.first, part.rows
      return compute(start, part.rows - column * plan.columns)
    end
    compute(start)
    if variant.pdl then grid_dependency_wait() end
    local all, stored = sums, column
    if plan.k_blocks > 1 then
      all = hopper.add_up(plan, rings.sums, sums, threadIdx.x)
      stored = column * plan.k_blocks + cluster_rank()
    end
    stores.store(lane, C, own, stored, all, ending)
  end)
  if variant.grouped then store_before() end
  if threadIdx.x % GROUP == 0 then tma_store_wait(0) end
end

-- {====== The group that loads ======

local function load_all(variant, plan, rings, block, X)
  if variant.pdl and not variant.grouped then grid_dependency_wait() end
  local line, lines = M.step(variant.dtype), variant.lines or 1
  local function boxes_of(x) return tile(x, {plan.columns, line}, {_, _}) end
  local all = tma_tensor(X)
  local state = pipeline_state(variant.stages, {parity = 1})
  each_tile(block, function(row, column, group) -- luacheck: ignore 212
    local boxes = boxes_of(group and domain_offset({group.first, 0}, all) or all)
    for k in range(block.k_tiles) do
      block.empty[state.slot]:wait(state.parity)
      block.full[state.slot]:arrive_expect_tx(plan.bytes)
      local at = block.k_first and block.k_first + k or k
      for i = 0, lines - 1 do
        tma_load(boxes(_, _, column, at * lines + i),
          tile(rings.acts(_, _, state.slot), {plan.columns, line}, {0, i}), block.full[state.slot])
      end
      state:advance()
    end
  end)
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  if not variant.glu then reduce.plan(variant, plan.like, GROUP) end

  return kernel(variant.name, function(codes, scales, zeros, X, C, alpha, beta, ...)
    local rings = { acts = shared(variant.dtype, plan.acts), codes = shared(u32, plan.codes),
      scales = shared(u32, plan.scales), zeros = variant.has_zeros and shared(u32, plan.zeros),
      stored = plan.stored and shared(variant.c_dtype,
        tile_to_shape(plan.stored, {plan.high, plan.pass, plan.buffers, plan.groups})) }
    local full, empty = mbarrier(variant.stages, 1), mbarrier(variant.stages, plan.groups)
    local k = size(X, 1)
    local n_weights = size(C, 0) * (variant.glu and 2 or 1) -- rows of the weight
    local args = { codes = formats.static(codes, 4), zeros = formats.static(zeros, 1),
      scales = recast(formats.static(scales, 2), u32), n_strips = cdiv(n_weights, STRIP),
      n_units = k // plan.unit, n_groups = k // variant.rows_of_group,
      group = variant.rows_of_group }
    local n_columns = cdiv(size(C, 1), plan.columns)
    local n_rows, list = cdiv(n_weights, variant.tile[1]), {...}
    local block = { full = full, empty = empty, k_tiles = k // plan.step // plan.k_blocks,
      n_columns = n_columns, n_tiles = n_columns * n_rows, tiles = { n_rows, n_columns },
      in_groups = plan.promotes }
    if plan.k_blocks > 1 then
      block.k_first, block.tile = cluster_rank() * block.k_tiles, blockIdx.x // plan.k_blocks
      rings.sums = hopper.others(f32, GROUP * plan.groups,
        size(plan.mma:partition_shape_C{variant.tile[1], plan.columns}), plan.k_blocks)
    end
    local by
    if variant.grouped then
      local ends = table.remove(list, 1)
      by = indexed.take(variant, list)
      block.way = { ends = ends, extent = by.extent or size(C, 1), rows = plan.columns,
                    times = n_rows }
    end
    local ending = { alpha = alpha, beta = beta, scales = scaling.take(variant, list),
                     operands = list, by = by }
    sync_threads()
    if variant.pdl then
      grid_dependency_launch()
      if variant.grouped then grid_dependency_wait() end -- for where groups end
    end
    if threadIdx.x >= plan.groups * GROUP then
      if variant.registers then setmaxnreg(variant.registers[1]) end
      if threadIdx.x == plan.groups * GROUP then load_all(variant, plan, rings, block, X) end
      if plan.k_blocks > 1 then sync_cluster() end -- sums are there
    else
      if variant.registers then setmaxnreg(variant.registers[2]) end
      multiply_all(variant, plan, args, rings, block, C, ending)
    end
    if plan.k_blocks > 1 then sync_cluster() end -- others may still read sums
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
