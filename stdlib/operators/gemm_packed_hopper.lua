-- gemm_packed_hopper.lua: products of f16 or bf16 and packed weights (packed_weights.lua) of more
-- rows than gemm_packed.lua takes, on Hopper: wgmma with the weight as operand A in registers. TMA
-- brings codes and scales to a ring. A lane makes numbers of its own, times the scale and rounded,
-- while the products of the step before run. TMA also brings activations, whose K a small kernel
-- has put in the order of the codes before (M.order). Blocks stay for many tiles.
-- Of activations of 8 bits numbers become such without the scale, which is exact; each group's
-- products are added in sums of their own, that are scaled in f32 and added to the others. With
-- `folds` scales are powers of two, which numbers have inside of 128 of K.
-- In groups of rows each has a weight. The small kernel then also gathers rows by an index, and
-- threads store C, as rows that follow are another group's.
-- Fields of its configurations, beside those that matmul.lua lists and those of the weights that
-- gemm_packed.lua does:
--   groups   warp groups that multiply, each 64 rows of the weight: tile {64 groups, columns,
--            128 bytes of K}
--   schedule "ping-pong": two groups have a tile of 128 rows each, and one multiplies while the
--            other stores
--   lines    of 128 bytes of K in a step, 1 if that is absent: the tile's K
--   stages   steps of K of activations in shared memory
--   depth    the same of codes
--   registers  of a thread, {of the group that loads, of those that multiply}
--   pdl, min_blocks  as in gemm_packed.lua
--   folds    numbers of 8 bits have the scales of groups of less than 128, relative to the largest
--   parts    of the columns, with activations of 8 bits: each is multiplied into sums of its own
--   k_blocks  blocks of a cluster that share a tile, as in gemm_hopper.lua
--   turn      steps of a turn of the loop over K, which divide those of a block: 2, or a multiple
--             of stages and depth, whose addresses are constants then
--   odd       a step follows the last turn of 2
--   overhangs  the last step does, beyond K
--   last     columns that are multiplied where a group has no more, if they are not LEAST
--   orders    with glu: C is stored in the order of the codes of a weight that multiplies it next,
--             as activations of so many bits
local arrive = require "cuttle.warp_arrive"
local grouping = require "cuttle.gemm_groups"
local indexed = require "cuttle.gemm_indexed"
local formats = require "cuttle.packed_formats"
local hopper = require "cuttle.gemm_hopper_multiply"
local loads = require "cuttle.gemm_packed_hopper_load"
local memo = require "cuttle.memo"
local operands = require "cuttle.packed_operands"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local stores = require "cuttle.gemm_packed_hopper_store"
local tma = require "cuttle.tma_rules"
local n_sms = require "cuttle.profile_device".n_sms
local M = {}

local GROUP <const>, WARP <const>, ROWS <const>, STRIP <const> = 128, 32, 64, 16
local WARPS <const> = GROUP // WARP
local WORDS <const>, PAIRS <const> = 4 * WARP, 8 -- of a strip: words of a unit, pairs of rows
local STEP_BITS <const> = 1024 -- of activations
local TILE <const> = 16 -- elements of K of a tile of codes
local FIRST_ID <const> = 1 -- of the groups' named barriers
-- Columns of C that are stored at a time, and by a group that has sums of 128 rows.
local PASS <const>, NARROW_PASS <const> = 64, 32
local LEAST <const>, MOST <const> = 64, 128 -- columns, where fewer may be multiplied
local AHEAD <const> = 64 -- columns of a part of which two have sums of their own
local kinds <const> = { -- atoms and their K
  f16 = { "16_F32F16F16_RS", 16 }, bf16 = { "16_F32BF16BF16_RS", 16 },
  f8e4m3 = { "32_F32E4M3E4M3_RS_TN", 32 }, i8 = { "32_S32S8S8_RS_TN", 32 },
}

--- Elements of K of a step of a configuration.
function M.step(dtype, config) return STEP_BITS // dtype.bits * (config and config.lines or 1) end

--- The last warp group loads.
function M.n_threads(config) return GROUP * (config.groups + 1) end

--- Blocks that stay, as many as there are multiprocessors.
function M.grid(config, m, n, l, groups)
  local columns = groups and grouping.most_tiles(n, groups.n, config.tile[2])
    or cdiv(n, config.tile[2])
  local tiles = cdiv(m, config.tile[1]) * columns
  if config.k_blocks then return { tiles * config.k_blocks, 1, l } end
  return { math.min(tiles, n_sms(device()) * (config.min_blocks or 1)), 1, l }
end

-- Words of a packed weight as (n, those of a row, strips).
local function in_strips(t, n, per_row)
  local words = recast(t, u32)
  return tma.mapped(view(words, layout{ n, per_row, size(words) // (n * per_row) }), 1)
end

--- What the kernel takes; p.ordered are the activations in the order of the codes.
function M.args(config, p)
  local w = p.packed
  local unit = formats.unit(formats.formats[config.format])
  local codes = in_strips(w.codes, WORDS, w.shape[2] // unit)
  local n_groups = w.shape[2] // w.group
  return { codes, in_strips(w.scales, PAIRS * w.scales.dtype.bits // 16, n_groups),
           w.zeros and in_strips(w.zeros, PAIRS, n_groups) or codes,
           tma.with_strides(p.ordered, 2), tma.with_strides((p.pairs_C or p.C)(_, _, 0), 1) }
end

-- {====== The order of K ======

local THREADS <const> = 256
local WIDE <const> = 4 -- words of an access
-- Rows of a block, where there are so many: their loads wait for memory at once.
local TOGETHER <const>, MANY <const> = 4, 4096

-- Of 32 elements of K, or n words, each lane has n / 4 in its registers: words (n / 4) c + i become
-- words 4 i + c. Bytes 1 and 2 of a word change place, as codes have. A thread reads four words
-- and writes four others of each of so many rows; per_row: accesses of a row; has_index: what
-- follows is which rows of X.
local make_order = memo.by_arguments(function(n, has_index, rows)
  return kernel("order_activations", function(X, out, per_row, ...)
    local own, at = shared(u32, WIDE * THREADS), blockIdx.y * THREADS + threadIdx.x
    local index, words, to = ..., recast(X, u32), recast(out, u32)
    local from, made, chosen = fragment(u32, {WIDE, rows}), fragment(u32, WIDE), {}
    local function each(f)
      for r = 0, rows - 1 do
        local m = rows * blockIdx.x + r
        if rows == 1 or m < size(out, 0) then f(r, m) end
      end
    end
    grid_dependency_launch() -- the product loads its weight meanwhile
    grid_dependency_wait()
    for r = 0, rows - 1 do
      local m = rows * blockIdx.x + r
      if rows > 1 then m = min(m, size(out, 0) - 1) end
      chosen[r] = has_index and index[m] or m
    end
    clear(from)
    each(function(r)
      local row = chosen[r]
      if at < per_row and (not has_index or row >= 0 and row < size(X, 0)) then
        copy(tile(words, {1, WIDE}, {row, at})(0, _), from(_, r))
      end
    end)
    each(function(r, m)
      if r > 0 then sync_warp() end
      copy(from(_, r), view(own, layout{WIDE}, WIDE * threadIdx.x))
      sync_warp()
      local first = WIDE * threadIdx.x // n * n
      for c = 0, WIDE - 1 do
        local word = own[first + n // WIDE * c + WIDE * threadIdx.x % n // WIDE]
        made[c] = n == 8 and byte_perm(word, word, 0x3120) or word
      end
      if at < per_row then copy(made, tile(to, {1, WIDE}, {m, at})(0, _)) end
    end)
  end)
end)

--- The step that writes activations (M,K), or rows of these by an index, to `out`, row-major, in
--- the order of the codes.
function M.order(X, out, stream, index)
  local per_row, n_rows = size(X, 1) * X.dtype.bits // (WIDE * u32.bits), size(out, 0)
  local rows = n_rows >= MANY and TOGETHER or 1
  return { kernel = make_order(X.dtype.bits, index ~= nil, rows), args = { X, out, per_row, index },
           launch = { grid = { cdiv(n_rows, rows), cdiv(per_row, THREADS) }, block = THREADS,
                      pdl = true, stream = stream } }
end

-- {====== Before the trace ======

-- How many columns of a tile are multiplied: `last` or LEAST, where a group has no more, or all.
-- With more of them threads would spill registers. Of parts it is one.
local function widths_of(columns, parts, last)
  if parts > 1 then return { columns // parts, columns } end
  last = last or columns > LEAST and columns <= MOST and LEAST
  return last and { last, columns } or { columns }
end

local function plan_of(variant)
  local format, dtype = formats.formats[variant.format], variant.dtype
  local columns, groups, k_blocks = variant.tile[2], variant.groups, variant.k_blocks or 1
  local parts, in_turns = variant.parts or 1, variant.schedule == "ping-pong"
  local pass = math.min(in_turns and NARROW_PASS or PASS, columns // k_blocks)
  while columns // k_blocks % pass ~= 0 do pass = pass // 2 end
  local step, kind, deep = M.step(dtype, variant), table.unpack(kinds[dtype.name])
  local together = in_turns and 1 or groups -- groups in one tile
  local plan = { format = format, unit = formats.unit(format), groups = groups,
    in_turns = in_turns, together = together, high = variant.tile[1] // (ROWS * together),
    columns = columns, k_blocks = k_blocks, stored_columns = columns // k_blocks,
    spans = math.max(step // formats.span(variant.rows_of_group), 1), pass = pass,
    mma = tiled_mma(("SM90_64x%dx%s"):format(columns, kind), {together, 1, 1}), parts = parts,
    part_mma = tiled_mma(("SM90_64x%dx%s"):format(columns // parts, kind), {together, 1, 1}),
    like = tiled_mma(("SM90_64x%dx%s"):format(pass, kind)), step = step, deep = deep,
    promotes = dtype.bits == 8, -- scales are of sums, and not of numbers
    turn = variant.turn or 2,
    acts = tile_to_shape(gmma_layout(dtype, "K", 128), {columns, step, variant.stages}) }
  plan.is_fixed = plan.turn % variant.stages == 0 and plan.turn % variant.depth == 0
    and not variant.odd
  plan.units, plan.line = step // plan.unit, M.step(dtype)
  plan.sums = variant.folds and step // formats.FOLDED or plan.spans
  plan.narrow = plan.promotes and format.narrow[dtype.name]
  plan.strips = variant.tile[1] // STRIP
  plan.words_of_pair = variant.dtype_of_scales.bits // 16
  local n_groups, bits = math.max(step // variant.rows_of_group, 1), 0
  local function ring(words, n)
    bits = bits + u32.bits * words * n * plan.strips
    return layout{words, n, plan.strips, variant.depth}
  end
  plan.codes = ring(WORDS, plan.units)
  plan.scales = ring(PAIRS * plan.words_of_pair, n_groups)
  plan.zeros = variant.has_zeros and ring(PAIRS, n_groups)
  plan.coded_bytes = bits // 8
  plan.widths, plan.mmas = { columns }, {}
  if variant.grouped then plan.widths = widths_of(columns, parts, variant.last) end
  for i, n in ipairs(plan.widths) do
    plan.mmas[i] = parts > 1 and plan.part_mma
      or tiled_mma(("SM90_64x%dx%s"):format(n, kind), {together, 1, 1})
  end
  stores.plan(variant, plan)
  plan.bytes = columns * step * dtype.bits // 8
  return plan
end

-- {====== Codes ======

-- Word i of the lane's scales or zero points of span v, of which a pair of rows has n.
local function word_of(lane, ring, at, v, i, n)
  local plan = lane.plan
  local group = formats.group_of(lane.variant.rows_of_group, v * (plan.step // plan.spans),
    lane.lane)
  return ring[{n * (lane.lane // 4) + i, group, at.strip, at.slot}]
end

local function scale_of(lane, at, v, i)
  return word_of(lane, lane.rings.scales, at, v, i, lane.plan.words_of_pair)
end

-- Calls f(t, words, zero, v) for tiles of the strip and slot `at`: the four words of the tile's
-- unit, and what zeros(pair, v) returns for the zero points of its span v.
local function each_tile_of(lane, at, zeros, f)
  local plan = lane.plan
  local tiles, words = plan.step // TILE, fragment(u32, 4)
  local of_span = tiles // plan.spans
  local zero
  for t = 0, tiles - 1 do
    local v = t // of_span
    if t % of_span == 0 then
      local pair
      if lane.rings.zeros then pair = word_of(lane, lane.rings.zeros, at, v, 0, 1) end
      zero = zeros(pair, v)
    end
    if t % plan.format.tiles == 0 then
      copy(tile(lane.rings.codes(_, t // plan.format.tiles, at.strip, at.slot), {4}, {lane.lane}),
        words)
    end
    f(t, words, zero, v)
  end
end

-- The lane's numbers of a strip, times their scales, to operand A (8,1,4).
local function make_scaled(lane, at, A)
  local plan, factors, before = lane.plan, nil, nil
  local function zeros(pair) return plan.format.zeros(lane.variant.dtype, pair) end
  each_tile_of(lane, at, zeros, function(t, words, zero, v)
    if v ~= before then factors, before = { formats.spread(scale_of(lane, at, v, 0)) }, v end
    operands.scaled(plan.format, lane.variant.dtype, words, t % plan.format.tiles, zero, factors,
      A(_, 0, t))
  end)
end

-- The lane's numbers of a strip as `make` has them, of 8 bits, to operand A (16,1,4); zeros: as of
-- each_tile_of.
local function put_narrow(lane, at, A, zeros, make)
  local format, made = lane.plan.format, fragment(u32, {4, size(A, 2)})
  each_tile_of(lane, at, zeros, function(t, words, zero)
    local first, i = t % 2 * 2, t // 2
    made[{first, i}], made[{first + 1, i}] =
      operands.narrow(format, words, t % format.tiles, make, zero)
  end)
  copy(view(recast(made, lane.variant.dtype), A.layout), A)
end

-- The scales of span v, of rows g and g + 8.
local function scales_of(lane, at, v)
  return operands.scales(lane.variant.dtype_of_scales, function(i)
    return scale_of(lane, at, v, i)
  end)
end

-- Numbers without scales, and the scales to factors (2,spans).
local function make_plain(lane, at, held)
  local plan = lane.plan
  put_narrow(lane, at, held.A, plan.format.narrow_zeros, plan.narrow.of)
  for v = 0, plan.spans - 1 do
    local upper, lower = scales_of(lane, at, v)
    held.factors[{0, v}], held.factors[{1, v}] = upper * plan.narrow.unit, lower * plan.narrow.unit
  end
end

-- Numbers times their scales, as parts of the largest of these, which goes to factors (2,1).
local function make_folded(lane, at, held)
  local plan, narrow, rows, most = lane.plan, lane.plan.narrow, { {}, {} }, {}
  for v = 0, plan.spans - 1 do rows[1][v], rows[2][v] = scales_of(lane, at, v) end
  for r, scales in ipairs(rows) do
    most[r] = scales[0]
    for v = 1, plan.spans - 1 do most[r] = max(most[r], scales[v]) end
    held.factors[{r - 1, 0}] = most[r] * narrow.folded_unit
  end
  put_narrow(lane, at, held.A, function(_, v)
    return { narrow.fold(rows[1][v], most[1]), narrow.fold(rows[2][v], most[2]) }
  end, narrow.folded)
end

local function make_numbers(lane, at, held)
  if not lane.plan.promotes then return make_scaled(lane, at, held.A) end
  if lane.variant.folds then return make_folded(lane, at, held) end
  make_plain(lane, at, held)
end

-- What is multiplied in one of two turns.
local function new_held(variant, plan)
  return { A = fragment(variant.dtype, {ROWS * plan.deep // GROUP, 1, plan.step // plan.deep}),
           factors = plan.promotes and fragment(f32, {2, plan.sums}) }
end

-- {====== The groups that multiply ======

local function new_lane(variant, plan, rings, group)
  local i = threadIdx.x % GROUP
  local strip = i // WARP -- of the tile, its first one
  if not plan.in_turns then strip = strip + group * WARPS end
  return { variant = variant, plan = plan, lane = i % WARP, strip = strip, rings = rings,
    coded = pipeline_state(variant.depth), together = named_barrier(FIRST_ID + group, GROUP),
    stored = plan.stored and rings.stored(_, _, _, group) }
end

-- Slot and parity of the codes of step s of a turn, the next one that is taken.
local function place_of(lane, s)
  local depth, coded = lane.variant.depth, lane.coded
  if lane.plan.is_fixed then return s % depth, coded.parity ~ s // depth % 2 end
  return coded.slot, coded.parity
end

-- The numbers of row i of step s of a turn.
local function take(lane, block, s, i, held)
  local slot, parity = place_of(lane, s)
  if i == 0 then block.coded_full[slot]:wait(parity) end
  make_numbers(lane, { strip = lane.strip + i * WARPS, slot = slot }, held)
end

-- The slot of step s is empty. TMA would overtake words that are still on their way to the lanes.
-- The fence waits for them, so it comes when products of them run, and costs nothing.
local function give_back(lane, block, s)
  fence_proxy_async()
  arrive(block.coded_empty[place_of(lane, s)], lane.lane)
  if not lane.plan.is_fixed then lane.coded:advance() end
end

-- Calls f(k, s, slot, parity) for the steps of K of a tile: s counts those of a turn, slot is where
-- its activations are.
local function each_step(lane, block, state, f)
  local plan, stages = lane.plan, lane.variant.stages
  local function step(k, s)
    f(k, s, state.slot, state.parity)
    state:advance()
  end
  for turn in range(block.k_tiles // plan.turn) do
    for s = 0, plan.turn - 1 do
      local k = plan.turn * turn + s
      if plan.is_fixed then
        f(k, s, s % stages, state.parity ~ s // stages % 2)
      else
        step(k, s)
      end
    end
    if plan.is_fixed then
      state:advance(plan.turn)
      lane.coded:advance(plan.turn)
    end
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

-- The sums of a tile, each group's apart, and the way's parts of the columns one after another:
-- while the sums of one are scaled and added, the products of the next run. While the first run,
-- the numbers of the next step are made.
local function multiply_apart(lane, block, state, way, sums, held)
  local plan, dtype, parts = lane.plan, lane.variant.dtype, way.parts
  local some, last = {}, plan.sums * parts - 1
  local ahead = plan.parts > 1 and plan.columns // plan.parts <= AHEAD and 1 or 0
  for i = 0, ahead do
    some[i] = fragment(dtype == i8 and i32 or f32,
      { size(sums) * way.columns // plan.columns // parts, 1, 1 })
  end
  local function begin(i, own, slot)
    local v, p = i // parts, i % parts
    wgmma_fence()
    gemm(way.mma, part_of(own.A, 0, v, plan.sums),
      part_of(way.tCsX(_, _, _, slot), p, v, plan.sums), some[i % (ahead + 1)],
      {accumulate = false})
    wgmma_commit()
  end
  clear(sums)
  take(lane, block, 0, 0, held[0])
  each_step(lane, block, state, function(k, s, slot, parity)
    local own = held[s % 2]
    block.full[slot]:wait(parity)
    for i = 0, last do
      for j = i == 0 and 0 or i + ahead, math.min(i + ahead, last) do begin(j, own, slot) end
      if i == 0 then give_back(lane, block, s) end
      if i == 0 and k + 1 < block.k_tiles then
        take(lane, block, s + 1, 0, held[1 - s % 2])
      end
      wgmma_wait(math.min(ahead, last - i))
      if i == last then release(block, slot) end
      promote(some[i % (ahead + 1)], own.factors, i // parts, i % parts, sums)
    end
  end)
end

-- The same where numbers have their scales, of the first columns that the instruction has. Rows of
-- a step are multiplied one after another. `handed`: is called when the last products run.
local function multiply(lane, block, state, way, held, handed)
  local before, high = 0, lane.plan.high
  each_step(lane, block, state, function(k, s, slot, parity)
    for i = 0, high - 1 do
      local own = held[(s * high + i) % 2]
      take(lane, block, s, i, own)
      if i == 0 then block.full[slot]:wait(parity) end
      wgmma_fence()
      gemm(way.mma, own.A, part_of(way.tCsX(_, _, _, slot), 0, 0, 1), way.sums[i],
        {accumulate = k > 0})
      wgmma_commit()
      if i == high - 1 then give_back(lane, block, s) end
      wgmma_wait(1)
      if i == 0 and k > 0 then release(block, before) end
    end
    before = slot
  end)
  if handed then handed() end
  wgmma_wait(0)
  release(block, before)
end

-- What multiplies all columns of a tile, and before it in the list what multiplies the first ones
-- only, for a group's last tile: {columns =, tCsX =} with mma and sums or, of 8 bits, parts.
local function ways_of(plan, rings, sums)
  local ways, thread = {}, threadIdx.x % (plan.together * GROUP)
  local function new(columns, mma)
    return { columns = columns, mma = mma, tCsX = mma:get_slice(thread):partition_B(rings.acts) }
  end
  for w, columns in ipairs(plan.widths) do
    ways[w] = new(columns, plan.mmas[w])
    ways[w].parts, ways[w].sums = cdiv(columns * plan.parts, plan.columns), {}
    for i = 0, plan.promotes and -1 or plan.high - 1 do
      ways[w].sums[i] = tile(sums, {size(sums, 0) * columns // plan.columns, 1, 1}, {0, i, 0})
    end
  end
  return ways
end

local function multiply_all(variant, plan, rings, block, C, ending)
  local group = shfl_idx(threadIdx.x // GROUP, 0)
  local lane = new_lane(variant, plan, rings, group)
  local sums = fragment(f32, plan.mma:partition_shape_C{ROWS * plan.together * plan.high,
    plan.columns})
  local held = { [0] = new_held(variant, plan), new_held(variant, plan) }
  local state = pipeline_state(variant.stages)
  local ways = ways_of(plan, rings, sums)
  local mine, other -- barriers of groups that multiply in turn
  local function handed() other:arrive() end
  -- In the narrowest way with all of the columns that are left of the group.
  local function multiply_by(w, left)
    local way = ways[w]
    if w == #ways or left <= way.columns then
      if plan.promotes then return multiply_apart(lane, block, state, way, sums, held) end
      return multiply(lane, block, state, way, held, other and handed)
    end
    multiply_by(w + 1, left)
  end
  -- Beyond steps that another group takes.
  local function skip(n)
    state:advance(n)
    lane.coded:advance(n)
  end
  local function compute(row, column, part)
    local own = plan.in_turns and row * plan.high or row * plan.groups + group
    if mine then mine:sync() end
    multiply_by(part and 1 or #ways, part and part.rows - column * plan.columns)
    if mine then skip(block.k_tiles) end
    if variant.pdl and not part then grid_dependency_wait() end
    local all, stored = sums, column
    if plan.k_blocks > 1 then
      all = hopper.add_up(plan, rings.sums, sums, threadIdx.x)
      stored = column * plan.k_blocks + cluster_rank()
    end
    stores.store(lane, C, own, stored, all, ending, part)
  end
  if plan.in_turns then
    mine = named_barrier(FIRST_ID + plan.groups + group, 2 * GROUP)
    other = named_barrier(FIRST_ID + plan.groups + 1 - group, 2 * GROUP)
    if group == 1 then other:arrive() end
    skip(group * block.k_tiles)
    loads.each_tile(block, group, 2, compute)
  else
    loads.each_tile(block, 0, 1, compute)
  end
  if threadIdx.x % GROUP == 0 then tma_store_wait(0) end
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  if not variant.glu then reduce.plan(variant, plan.like, GROUP) end

  return kernel(variant.name, function(codes, scales, zeros, X, C, alpha, beta, ...)
    local rings = { acts = shared(variant.dtype, plan.acts), codes = shared(u32, plan.codes),
      scales = shared(u32, plan.scales), zeros = variant.has_zeros and shared(u32, plan.zeros),
      stored = plan.stored and shared(variant.c_dtype,
        tile_to_shape(plan.stored, {plan.stored_rows, plan.pass, plan.buffers, plan.groups})) }
    local full, empty = mbarrier(variant.stages, 1), mbarrier(variant.stages, plan.together)
    local coded_full = mbarrier(variant.depth, 1)
    local coded_empty = mbarrier(variant.depth, plan.together * WARPS)
    local k = size(X, 1)
    local n_weights = size(C, 0) * (variant.glu and 2 or 1) -- rows of the weight
    local args = { codes = codes, scales = scales, zeros = zeros,
      n_strips = cdiv(n_weights, STRIP) }
    local n_columns = cdiv(size(C, 1), plan.columns)
    local n_rows, list = cdiv(n_weights, variant.tile[1]), {...}
    local block = { full = full, empty = empty, coded_full = coded_full,
      coded_empty = coded_empty, k_tiles = variant.overhangs and cdiv(k, plan.step)
        or k // plan.step // plan.k_blocks,
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
                    times = n_rows, least = #plan.widths > 1 and plan.widths[1] or nil }
      if block.way.least then block.list = loads.new_list(WARPS * plan.groups) end
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
      loads.load(variant, plan, rings, block, X, args)
      if plan.k_blocks > 1 then sync_cluster() end -- sums are there
    else
      if variant.registers then setmaxnreg(variant.registers[2]) end
      multiply_all(variant, plan, rings, block, C, ending)
    end
    if plan.k_blocks > 1 then sync_cluster() end -- others may still read sums
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
