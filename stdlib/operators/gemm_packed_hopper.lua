-- gemm_packed_hopper.lua: products of f16 or bf16 and packed weights (packed_weights.lua) of more
-- rows than gemm_packed.lua takes, on Hopper: wgmma with the weight as operand A in registers. Each
-- lane brings its own codes and scales by cp.async. It makes numbers of them, times the scale and
-- rounded, while the products of the step before run. TMA brings activations, whose K a small
-- kernel has put in the order of the codes before (M.order). Blocks stay for many tiles.
-- Fields of its configurations, beside those that matmul.lua lists and those of the weights that
-- gemm_packed.lua does:
--   groups   warp groups that multiply, each 64 rows of the weight: tile {64 groups, columns, 64}
--   stages   steps of K of activations in shared memory
--   depth    the same of codes
--   registers  of a thread, {of the group that loads, of those that multiply}
--   pdl, min_blocks  as in gemm_packed.lua
--   k_blocks  blocks of a cluster that share a tile, as in gemm_hopper.lua: K is a multiple of 128
--             times as many
local epilogue = require "cuttle.gemm_epilogue"
local formats = require "cuttle.packed_formats"
local hopper = require "cuttle.gemm_hopper_multiply"
local operands = require "cuttle.packed_operands"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local tma = require "cuttle.tma_rules"
local n_sms = require "cuttle.profile_device".n_sms
local M = {}

local GROUP <const>, WARP <const>, ROWS <const>, STRIP <const>, STEP <const> = 128, 32, 64, 16, 64
local DEEP <const> = 16 -- of an instruction
local FIRST_ID <const> = 1 -- of the groups' named barriers
local PASS <const> = 64 -- columns of C that are stored at a time
local BUFFERS <const> = 2
local kinds <const> = { f16 = "F32F16F16_RS", bf16 = "F32BF16BF16_RS" }

--- One warp of the last warp group loads.
function M.n_threads(config) return GROUP * (config.groups + 1) end

--- Blocks that stay, as many as there are multiprocessors.
function M.grid(config, m, n, l)
  local tiles = cdiv(m, config.tile[1]) * cdiv(n, config.tile[2])
  if config.k_blocks then return { tiles * config.k_blocks, 1, l } end
  return { math.min(tiles, n_sms(device()) * (config.min_blocks or 1)), 1, l }
end

--- What the kernel takes; p.ordered are the activations in the order of the codes.
function M.args(config, p) -- luacheck: ignore 212
  local w = p.packed
  return { w.codes, w.scales, w.zeros or w.codes, tma.with_strides(p.ordered, 2),
           tma.with_strides(p.C(_, _, 0), 1) }
end

-- {====== The order of K ======

local WORDS <const>, THREADS <const> = 16, 128 -- of 32 elements of K

-- Words 4 c + i of 16 become words 4 i + c: of a lane's eight elements pair i is in register i.
local order_kernel = kernel("order_activations", function(X, out, n_blocks)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(X, 0) * n_blocks then
    local m, block = i // n_blocks, i % n_blocks
    local words = view(recast(X, u32), layout({size(X, 0), {WORDS, n_blocks}},
      {stride(recast(X, u32))[1], {1, WORDS}}))
    local to = view(recast(out, u32), layout({size(X, 0), {WORDS, n_blocks}},
      {WORDS * n_blocks, {1, WORDS}}))
    local from, made = fragment(u32, WORDS), fragment(u32, WORDS)
    copy(words(m, {_, block}), from)
    for c = 0, 3 do
      for j = 0, 3 do made[4 * j + c] = from[4 * c + j] end
    end
    copy(made, to(m, {_, block}))
  end
end)

--- The step that writes activations (M,K) to `out`, row-major, in the order of the codes.
function M.order(X, out, stream)
  local n_blocks = size(X, 1) // 32
  return { kernel = order_kernel, args = { X, out, n_blocks },
           launch = { grid = cdiv(size(X, 0) * n_blocks, THREADS), block = THREADS,
                      stream = stream } }
end

-- {====== Before the trace ======

local function plan_of(variant)
  local format, dtype = formats.formats[variant.format], variant.dtype
  local columns, groups, k_blocks = variant.tile[2], variant.groups, variant.k_blocks or 1
  local pass = math.min(PASS, columns // k_blocks)
  local plan = { format = format, unit = formats.unit(format), groups = groups,
    columns = columns, k_blocks = k_blocks, stored_columns = columns // k_blocks,
    spans = math.max(STEP // formats.span(variant.rows_of_group), 1), pass = pass,
    mma = tiled_mma(("SM90_64x%dx16_%s"):format(columns, kinds[dtype.name]), {groups, 1, 1}),
    like = tiled_mma(("SM90_64x%dx16_%s"):format(pass, kinds[dtype.name])),
    acts = tile_to_shape(gmma_layout(dtype, "K", 128), {columns, STEP, variant.stages}) }
  plan.units = STEP // plan.unit
  plan.codes = layout{4, GROUP, plan.units, variant.depth, groups}
  plan.scales = layout{1, GROUP, plan.spans, variant.depth, groups}
  plan.stored = tile_to_shape(gmma_layout(variant.c_dtype, "MN", 128), {ROWS, pass, BUFFERS})
  plan.store = tiled_copy_C(atom("SM90_U16x8_STSM_T", variant.c_dtype), plan.like)
  plan.bytes = columns * STEP * dtype.bits // 8
  return plan
end

-- {====== Codes ======

-- Codes and scales of the lane's step k are on their way.
local function bring(lane, row, step)
  local plan, args, stage = lane.plan, lane.args, step % lane.variant.depth
  local k = lane.k_first and step + lane.k_first or step
  local strip = min(row * (ROWS // STRIP) + lane.warp, args.n_strips - 1)
  local unit = strip * args.n_units + k * plan.units
  for u = 0, plan.units - 1 do
    copy(args.codes(_, (unit + u) * WARP + lane.lane), lane.codes(_, u, stage))
  end
  for v = 0, plan.spans - 1 do
    local group = strip * args.n_groups
      + formats.group_of(args.group, k * STEP + v * (STEP // plan.spans), lane.lane)
    local at = group * 8 + lane.lane // 4
    copy(args.scales(_, at), lane.scales(_, v, stage))
    if lane.zeros then copy(args.zeros(_, at), lane.zeros(_, v, stage)) end
  end
end

-- The lane's numbers of step k, times their scales, to operand A (8,1,4).
local function make_numbers(lane, k, A)
  local plan, variant, stage = lane.plan, lane.variant, k % lane.variant.depth
  local tiles, words = STEP // DEEP, fragment(u32, 4)
  local of_span = tiles // plan.spans
  local factors, zero
  for t = 0, tiles - 1 do
    if t % of_span == 0 then
      local v = t // of_span
      factors = { formats.spread(lane.scales[{0, v, stage}]) }
      local pair
      if lane.zeros then pair = lane.zeros[{0, v, stage}] end
      zero = plan.format.zeros(variant.dtype, pair)
    end
    if t % plan.format.tiles == 0 then
      copy(lane.codes(_, t // plan.format.tiles, stage), words)
    end
    operands.scaled(plan.format, variant.dtype, words, t % plan.format.tiles, zero, factors,
      A(_, 0, t))
  end
end

-- {====== The groups that multiply ======

local function new_lane(variant, plan, args, rings, group, k_first)
  local i = threadIdx.x % GROUP
  return { variant = variant, k_first = k_first, plan = plan, args = args, lane = i % WARP,
    warp = i // WARP,
    together = named_barrier(FIRST_ID + group, GROUP), stored = rings.stored(_, _, _, group),
    codes = rings.codes(_, i, _, _, group), scales = rings.scales(_, i, _, _, group),
    zeros = variant.has_zeros and rings.zeros(_, i, _, _, group) }
end

-- The sums of a tile, whose codes up to the ring's depth are on their way.
local function multiply(lane, block, state, row, tCsX, sums, A)
  local depth, before = lane.variant.depth, 0
  local n = block.k_tiles
  for k2 in range(n // 2) do
    for s = 0, 1 do
      local k = 2 * k2 + s
      cp_async_wait(depth - 2)
      make_numbers(lane, k, A[s])
      if k + depth - 1 < n then bring(lane, row, k + depth - 1) end
      cp_async_commit()
      block.full[state.slot]:wait(state.parity)
      wgmma_fence()
      gemm(lane.plan.mma, A[s], tCsX(_, _, _, state.slot), sums, {accumulate = k > 0})
      wgmma_commit()
      wgmma_wait(1)
      if k > 0 and threadIdx.x % GROUP == 0 then block.empty[before]:arrive() end
      before = state.slot
      state:advance()
    end
  end
  wgmma_wait(0)
  if threadIdx.x % GROUP == 0 then block.empty[before]:arrive() end
end

-- A group's sums to C, in passes of some columns.
local function store(lane, C, row, column, sums, ending)
  local variant, plan, i = lane.variant, lane.plan, threadIdx.x % GROUP
  local thr, copier = plan.like:get_slice(i), plan.store:get_slice(i)
  local out = epilogue.begin(variant, ending.alpha, ending.beta, { l = 0,
    operands = ending.operands, scales = ending.scales, m = row, n = column,
    extent = {size(C, 0), size(C, 1)} })
  local to = tile(tma_tensor(C), {ROWS, plan.pass}, {row, _})
  local places = identity_tensor(shape(C))
  local passes = plan.stored_columns // plan.pass
  for p = 0, passes - 1 do
    local part = tile(sums, {size(sums, 0) // passes, 1, 1}, {p, 0, 0})
    local at = thr:partition_C(tile(places, {ROWS, plan.pass}, {row, column * passes + p}))
    local new = out:finished(part, nil, at)
    local memory = lane.stored(_, _, p % BUFFERS)
    if i == 0 then tma_store_wait(BUFFERS - 1) end
    lane.together:sync()
    copy(plan.store, copier:retile_S(new), copier:partition_D(memory))
    fence_proxy_async()
    lane.together:sync()
    if i == 0 then
      tma_store(memory, to(_, _, column * passes + p))
      tma_store_commit()
    end
  end
end

-- Calls f(row, column) of the block's tiles: columns first, which share the weight.
local function each_tile(block, f)
  if block.tile ~= nil then
    f(block.tile // block.n_columns, block.tile % block.n_columns)
    return
  end
  for i in range(blockIdx.x, block.n_tiles, gridDim.x) do
    f(i // block.n_columns, i % block.n_columns)
  end
end

local function multiply_all(variant, plan, args, rings, block, C, ending)
  local group = shfl_idx(threadIdx.x // GROUP, 0)
  local lane = new_lane(variant, plan, args, rings, group, block.k_first)
  local sums = fragment(f32, plan.mma:partition_shape_C{variant.tile[1], plan.columns})
  local A = {}
  for s = 0, 1 do A[s] = fragment(variant.dtype, {8, 1, STEP // DEEP}) end
  local tCsX = plan.mma:get_slice(threadIdx.x):partition_B(rings.acts)
  local state = pipeline_state(variant.stages)
  each_tile(block, function(row, column)
    local own = row * plan.groups + group
    for k = 0, variant.depth - 2 do
      if k < block.k_tiles then bring(lane, own, k) end
      cp_async_commit()
    end
    multiply(lane, block, state, own, tCsX, sums, A)
    cp_async_wait(0)
    if variant.pdl then grid_dependency_wait() end
    local all, stored = sums, column
    if plan.k_blocks > 1 then
      all = hopper.add_up(plan, rings.sums, sums, threadIdx.x)
      stored = column * plan.k_blocks + cluster_rank()
    end
    store(lane, C, own, stored, all, ending)
  end)
  if threadIdx.x % GROUP == 0 then tma_store_wait(0) end
end

-- {====== The group that loads ======

local function load_all(variant, plan, rings, block, X)
  if variant.pdl then grid_dependency_wait() end
  local boxes = tile(tma_tensor(X), {plan.columns, STEP}, {_, _})
  local state = pipeline_state(variant.stages, {parity = 1})
  each_tile(block, function(row, column) -- luacheck: ignore 212
    for k in range(block.k_tiles) do
      block.empty[state.slot]:wait(state.parity)
      block.full[state.slot]:arrive_expect_tx(plan.bytes)
      local at = block.k_first and block.k_first + k or k
      tma_load(boxes(_, _, column, at), rings.acts(_, _, state.slot), block.full[state.slot])
      state:advance()
    end
  end)
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  reduce.plan(variant, plan.like, GROUP)

  return kernel(variant.name, function(codes, scales, zeros, X, C, alpha, beta, ...)
    local rings = { acts = shared(variant.dtype, plan.acts), codes = shared(u32, plan.codes),
      scales = shared(u32, plan.scales), zeros = variant.has_zeros and shared(u32, plan.scales),
      stored = shared(variant.c_dtype,
        tile_to_shape(plan.stored, {ROWS, plan.pass, BUFFERS, plan.groups})) }
    local full, empty = mbarrier(variant.stages, 1), mbarrier(variant.stages, plan.groups)
    local k = size(X, 1)
    local args = { codes = formats.static(codes, 4), zeros = formats.static(zeros, 1),
      scales = recast(formats.static(scales, 2), u32), n_strips = cdiv(size(C, 0), STRIP),
      n_units = k // plan.unit, n_groups = k // variant.rows_of_group,
      group = variant.rows_of_group }
    local n_columns = cdiv(size(C, 1), plan.columns)
    local block = { full = full, empty = empty, k_tiles = k // STEP // plan.k_blocks,
      n_columns = n_columns, n_tiles = n_columns * cdiv(size(C, 0), variant.tile[1]) }
    if plan.k_blocks > 1 then
      block.k_first, block.tile = cluster_rank() * block.k_tiles, blockIdx.x // plan.k_blocks
      rings.sums = shared(f32, { GROUP * plan.groups, size(plan.mma:partition_shape_C
        {variant.tile[1], plan.columns}) })
    end
    sync_threads()
    if variant.pdl then grid_dependency_launch() end
    if threadIdx.x >= plan.groups * GROUP then
      if variant.registers then setmaxnreg(variant.registers[1]) end
      if threadIdx.x == plan.groups * GROUP then load_all(variant, plan, rings, block, X) end
      if plan.k_blocks > 1 then sync_cluster() end -- sums are there
    else
      if variant.registers then setmaxnreg(variant.registers[2]) end
      local list = {...}
      local ending = { alpha = alpha, beta = beta, scales = scaling.take(variant, list),
                       operands = list }
      multiply_all(variant, plan, args, rings, block, C, ending)
    end
    if plan.k_blocks > 1 then sync_cluster() end -- others may still read sums
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
