-- gemm_tcgen05.lua: the kernel of matmul for sm_100a: TMA fills a ring of stages in shared memory,
-- one thread multiplies them by tcgen05 into tensor memory, and four warps take a tile of sums from
-- there while the next one is multiplied into a second one. The launch has a block for each tile,
-- and blocks take the tiles of blocks that have not begun (clc_scheduler). The instruction's
-- columns are adjacent in registers, so they are the contiguous M of C: its A, the rows, is
-- matmul's B, and its B, the columns, is matmul's A. No hardware has run this: the rows of
-- matmul_configs.lua follow the cost model. Fields of its configurations, beside those that
-- matmul.lua lists (bM is the instruction's N, bN the 128 rows of a block):
--   stages     tiles of K in the ring
--   cluster    2: pairs of blocks multiply 2 bN rows, and each loads half of the columns; or absent
--   group      rows of tiles that are walked together
--   scale_warps  warps that bring scales of 16 or 32 of K (gemm_tcgen05_scales.lua), or absent
local epilogue = require "cuttle.gemm_epilogue"
local rasters = require "cuttle.raster"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local store = require "cuttle.gemm_hopper_store"
local hopper = require "cuttle.gemm_hopper"
local scaled = require "cuttle.gemm_tcgen05_scales"
local tma = require "cuttle.tma_rules"
local M = { never_ran = true, knows_plain = true }

local WARP <const> = 32
local EPILOGUE <const> = 128 -- threads that store; then a warp each that loads, multiplies, asks
local LOADER <const>, MULTIPLIER <const>, ASKER <const> = EPILOGUE, EPILOGUE + 32, EPILOGUE + 64
local SCALER <const> = EPILOGUE + 96
local LINE_BITS <const> = 1024
local PART <const> = 32 -- columns that a thread takes at a time
local ACCUMULATORS <const>, ANSWERS <const> = 2, 3
local GROUP_OF_TILES <const> = 8

-- By the type of A and B: the instruction of one block, and of a pair.
local atoms <const> = {
  f16 = "F16BF16", bf16 = "F16BF16", tf32 = "TF32", f8e4m3 = "F8F6F4", f8e5m2 = "F8F6F4",
}

function M.n_threads(config) return EPILOGUE + 3 * WARP + scaled.n_threads(config) end

local function high_of(config) return config.cluster or 1 end

--- Of the ring, scales, barriers, answers and the place of tensor memory.
function M.shared_bytes(config, dtype)
  local bM, bN, bK = table.unpack(config.tile)
  return config.stages * (bM // high_of(config) + bN) * bK * dtype.bits // 8 + LINE_BITS
    + scaled.bytes(config, dtype)
end

-- {====== What a problem must be ======

local A_MODES <const>, B_MODES <const> = { "M", "K", "the batches" }, { "N", "K", "the batches" }
local ALONG <const> = { mn = 1, k = 2 }

local function trouble_with(t, name, modes, major)
  return tma.trouble(tma.with_strides(t, ALONG[major]), name, modes, ALONG[major], 2)
end

--- Why no kernel of this template computes the problem; nil: it does.
function M.trouble(config, p)
  local a, b, a_modes, b_modes = "A", "B", A_MODES, B_MODES
  if p.groups then
    return "blocks that take others' work know no groups"
  elseif p.glu or reduce.has_reduced(p.named) then
    return "a thread has one row of a tile, and neither reduces nor pairs what it stores"
  end
  local why = scaled.trouble(config, p)
  if why then return why end
  if p.swapped then a, b, a_modes, b_modes = b, a, b_modes, a_modes end
  return trouble_with(p.A, a, a_modes, p.a_major) or trouble_with(p.B, b, b_modes, p.b_major)
end

--- The launch's grid: a block for each tile.
function M.grid(config, m, n, l)
  local high = high_of(config)
  local tiles = cdiv(n, config.tile[2] * high) * cdiv(m, config.tile[1])
  return { tiles * high, 1, l }, config.group or GROUP_OF_TILES
end

--- What the kernel takes before alpha and beta.
function M.args(_, p)
  local function taken(t, major)
    return hopper.without_stride_0(scaled.in_words(tma.with_strides(t, ALONG[major])))
  end
  return { taken(p.A, p.a_major), taken(p.B, p.b_major), p.C }
end

-- {====== The parts ======

-- What shared memory has: floats of 4 bits are there in words of eight.
local function element_of(variant) return variant.dtype.bits == 4 and u32 or variant.dtype end

-- A ring (rows, bK, stage) in lines of 128 bytes along what is contiguous.
local function ring_layout(variant, major, rows)
  local dtype = element_of(variant)
  local bK = variant.tile[3] // scaled.per_word(variant.dtype)
  local atom = gmma_layout(dtype, major == "k" and "K" or "MN", LINE_BITS // 8)
  if major == "k" then return tile_to_shape(atom, {rows, bK, variant.stages}) end
  local panel = tile_to_shape(atom, {LINE_BITS // dtype.bits, bK})
  return tile_to_shape(panel, {rows, bK, variant.stages})
end

local function atom_of(variant, rows, columns)
  if variant.scale_warps then return scaled.atom(variant, rows, columns) end
  local name = variant.dtype.name
  return ("SM100_MMA_%s%s_SS<%s,%s,f32,%d,%d>"):format(atoms[name],
    variant.cluster and "_2x1SM" or "", name, name, rows, columns)
end

-- What the kernel knows of itself before it is traced.
local function plan_of(variant)
  local bM, bN, bK = table.unpack(variant.tile)
  local high = high_of(variant)
  return { mma = tiled_mma(atom_of(variant, bN * high, bM)), high = high, part = bM // high,
           depth = bK // scaled.per_word(variant.dtype), -- in what shared memory has
           rows = ring_layout(variant, variant.b_major, bN),
           columns = ring_layout(variant, variant.a_major, bM // high),
           bytes = (bM + bN * high) * bK * variant.dtype.bits // 8, all = (1 << high) - 1 }
end

-- Calls f(row, column, l) for each tile of the block, or of its pair.
local function each_tile(block, f)
  local work = block.scheduler:work()
  while work.is_valid do
    local i = block.plan.high == 2 and work.x // 2 or work.x
    local row, column = rasters.place(block.walk, i)
    f(row, column, work.z)
    work:advance()
  end
end

local function sync_all(plan)
  if plan.high == 2 then sync_cluster() else sync_threads() end
end

-- One thread of each block: its rows and its columns of each tile.
local function load_all(variant, block, X, Y)
  local plan, bN, bK = block.plan, variant.tile[2], block.plan.depth
  local rank, pair = cluster_rank(), { pair = plan.high == 2 }
  local x, y = tma_tensor(X), tma_tensor(Y)
  local state = pipeline_state(variant.stages, {parity = 1}) -- all slots are empty at first
  each_tile(block, function(row, column, l)
    local gX = tile(store.of_batch(x, l), {bN, bK}, {_, _})
    local gY = tile(store.of_batch(y, l), {plan.part, bK}, {_, _})
    for k in range(block.k_tiles) do
      local slot = state.slot
      block.empty[slot]:wait(state.parity)
      if plan.high == 1 then
        block.full[slot]:arrive_expect_tx(plan.bytes)
      elseif rank == 0 then
        block.full[slot]:arrive_expect_tx(plan.bytes) -- of both blocks
      end
      tma_load(gX(_, _, row * plan.high + rank, k), block.rows(_, _, slot), block.full[slot], pair)
      tma_load(gY(_, _, column * plan.high + rank, k), block.columns(_, _, slot),
        block.full[slot], pair)
      state:advance()
    end
  end)
end

local function commit(plan, bar)
  if plan.high == 2 then tcgen05_commit(bar, {multicast = plan.all}) else tcgen05_commit(bar) end
end

-- One thread, of a pair that of the first block.
local function multiply_all(variant, block)
  local plan, whole = block.plan, block.plan.high == 2 and pair_tile or function(t) return t end
  local thr = plan.mma:get_slice(0)
  local tCsX, tCsY = thr:partition_A(whole(block.rows)), thr:partition_B(whole(block.columns))
  local tCtC = thr:partition_C(whole(block.sums))                   -- (V,N,M,ACC)
  local take_scales = block.scales and scaled.copier(block, thr)
  local state, out = pipeline_state(variant.stages), pipeline_state(ACCUMULATORS, {parity = 1})
  each_tile(block, function()
    block.free[out.slot]:wait(out.parity)
    tcgen05_after_thread_sync()
    for k in range(block.k_tiles) do
      local slot = state.slot
      block.full[slot]:wait(state.parity)
      local x, y = tCsX(_, _, _, slot), tCsY(_, _, _, slot)
      if take_scales then
        local of_x, of_y = take_scales(slot)
        x, y = {x, of_x}, {y, of_y}
      end
      gemm(plan.mma, x, y, tCtC(_, _, _, out.slot), {accumulate = k > 0})
      commit(plan, block.empty[slot])
      state:advance()
    end
    commit(plan, block.done[out.slot])
    out:advance()
  end)
end

-- What is stored of a thread's sums.
local function elements(variant, out, sums, part, places)
  if variant.plain then return cast(sums, variant.c_dtype) end
  return out:finished(sums, part, places)
end

-- Four warps: a row of the tile for each thread, some columns at a time.
local function store_all(variant, block, C, ending)
  local plan, bM, bN = block.plan, variant.tile[1], variant.tile[2]
  local ld = tmem_copy(("SM100_TMEM_LOAD_32dp32b%dx"):format(PART), block.sums)
    :get_slice(threadIdx.x)
  local tDtC = ld:partition_S(block.sums)                           -- (V,N,M,ACC)
  local taken = fragment_like(tDtC(_, 0, 0, 0))
  local extents = {size(C, 1), size(C, 0)}
  local places = select(identity_tensor{extents[2], extents[1]}, 1, 0)
  local out = pipeline_state(ACCUMULATORS)
  each_tile(block, function(row, column, l)
    local own_row = row * plan.high + cluster_rank()
    local matrix = select(C(_, _, l), 1, 0)
    local at = {own_row, column}
    local to = ld:partition_D(tile(variant.ragged and guard(matrix) or matrix, {bN, bM}, at))
    local place = ld:partition_D(tile(places, {bN, bM}, at))
    local ends = epilogue.begin(variant, ending.alpha, ending.beta, { l = l,
      operands = ending.operands, scales = ending.scales, m = column, n = own_row,
      extent = {extents[2], extents[1]} })
    block.done[out.slot]:wait(out.parity)
    tcgen05_after_thread_sync()
    if own_row * bN < extents[1] then -- the second block of a pair may lie outside
      for j = 0, bM // PART - 1 do
        copy(ld, tDtC(_, 0, j, out.slot), taken)
        copy(elements(variant, ends, taken, to(_, 0, j), place(_, 0, j)), to(_, 0, j))
      end
    end
    tcgen05_before_thread_sync()
    if plan.high == 2 then block.free[out.slot]:arrive(0) else block.free[out.slot]:arrive() end
    out:advance()
  end)
end

-- {====== The kernel ======

function M.make(variant)
  local bM, bN = table.unpack(variant.tile)
  local plan, n_scalers = plan_of(variant), scaled.n_threads(variant)

  local element = element_of(variant)

  return kernel(variant.name, function(A, B, C, alpha, beta, ...)
    local operands = {...}
    local ending = { alpha = alpha, beta = beta, scales = scaling.take(variant, operands),
                     operands = operands }
    local block = {
      plan = plan, k_tiles = cdiv(size(A, 1), plan.depth),
      rows = shared(element, plan.rows), columns = shared(element, plan.columns),
      sums = tmem(variant.sum, {bN, bM, ACCUMULATORS}),
      full = mbarrier(variant.stages, 1 + n_scalers * plan.high),
      empty = mbarrier(variant.stages, 1),
      done = mbarrier(ACCUMULATORS, 1), free = mbarrier(ACCUMULATORS, EPILOGUE * plan.high),
      scheduler = clc_scheduler{readers = EPILOGUE + 2 + n_scalers, stages = ANSWERS},
      walk = { tiles = { cdiv(size(C, 1), bN * plan.high), cdiv(size(C, 0), bM) },
               order = "groups", group = variant.group or GROUP_OF_TILES } }
    if n_scalers > 0 then
      block.scales = scaled.begin(variant, ending.scales.B, ending.scales.A)
    end
    sync_all(plan)
    if threadIdx.x < EPILOGUE then
      store_all(variant, block, C, ending)
    elseif threadIdx.x == LOADER then
      load_all(variant, block, B, A)
    elseif threadIdx.x == MULTIPLIER then
      if cluster_rank() == 0 then
        multiply_all(variant, block)
      else
        each_tile(block, function() end) -- each block has as many readers
      end
    elseif threadIdx.x == ASKER then
      block.scheduler:fetch()
    elseif n_scalers > 0 and threadIdx.x >= SCALER then
      scaled.load_all(variant, block, threadIdx.x - SCALER, function(f) each_tile(block, f) end)
    end
    sync_all(plan) -- of a pair neither ends before the other
    tmem_dealloc(block.sums)
    if block.scales then scaled.free(block) end
  end, {emission = variant.emission})
end

return M
