-- gemm_packed.lua: products of f16, bf16 or f8e4m3 and packed weights (packed_weights.lua), of few
-- rows, as a step of decoding has: mma.sync m16n8k16 with the weight as operand A, whose codes
-- become numbers in registers; activations of f8e4m3 become f16 there, exactly. Rows of C are the
-- weight's; columns, up to 64, are the activations' rows. Warps of a block take turns at the steps
-- of K, and each lane brings its own codes, activations and scales by cp.async, to places of its
-- own in shared memory: so no lane waits for another until all add up their sums. A group's sum is
-- multiplied by its scale in f32.
-- In groups each has a weight, and rows of activations, perhaps by an index.
-- Fields of its configurations, beside those that matmul.lua lists:
--   format, dtype_of_scales, has_zeros, rows_of_group  of the weights: a name of packed_formats.lua
--   strips   of 16 rows of the weight, of a block
--   columns  tiles of 8 columns
--   warps    of a block
--   stages   steps of K in shared memory
--   step     elements of K of a step
--   pdl      the launch may begin while the one before ends: weights are no result of that one
local indexed = require "cuttle.gemm_indexed"
local raster = require "cuttle.gemm_raster"
local epilogue = require "cuttle.gemm_epilogue"
local formats = require "cuttle.packed_formats"
local nested = require "cuttle.gemm_nested"
local packed = require "cuttle.packed_operands"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local M = {}

local WARP <const>, ROWS <const>, COLUMNS <const> = 32, 16, 8
local HALF_STEP <const> = 32 -- elements of K of which a lane has 8 of a column
local atoms <const> = { f16 = "SM80_16x8x16_F32F16F16F32_TN",
                        bf16 = "SM80_16x8x16_F32BF16BF16F32_TN" }

function M.n_threads(config) return WARP * config.warps end

--- Blocks with the same rows of the weight follow each other, so that they share what they read.
function M.grid(config, m, n, l, groups)
  if groups then return raster.grid(config, m, n, l, groups) end
  return { cdiv(m, config.tile[1]) * cdiv(n, config.tile[2]), 1, l }
end

--- What the kernel takes.
function M.args(_, p)
  local w = p.packed
  return { w.codes, w.scales, w.zeros or w.codes, p.B, p.C }
end

-- {====== Before the trace ======

-- Elements of K of which the sums are scaled at once.
local function span_of(config)
  return math.min(config.step, formats.span(config.rows_of_group))
end

local function plan_of(variant, dtype)
  local format = formats.formats[variant.format]
  local unit, step = formats.unit(format), variant.step
  local plan = { format = format, unit = unit, units = step // unit, halves = step // HALF_STEP,
                 span = span_of(variant), bN = variant.strips * ROWS,
                 bM = variant.columns * COLUMNS }
  plan.spans = step // plan.span
  plan.dtype, plan.act_words = packed.wide(dtype), 8 * dtype.bits // 32
  plan.scale_words = variant.dtype_of_scales.bits // 16
  local stages, warps = variant.stages, variant.warps
  plan.codes = layout{4, WARP, plan.units, variant.strips, stages, warps}
  plan.acts = layout{plan.act_words, WARP, plan.halves, variant.columns, stages, warps}
  plan.scales = layout{plan.scale_words, WARP, plan.spans, variant.strips, stages, warps}
  plan.zeros = layout{1, WARP, plan.spans, variant.strips, stages, warps}
  plan.sums = layout({plan.bN, plan.bM, warps}, {1, plan.bN + 4, (plan.bN + 4) * plan.bM})
  return plan
end

-- Words of the ring of activations, in which the sums are later.
local function words_of_acts(plan) return math.max(size(plan.acts), cosize(plan.sums)) end

--- Bytes of shared memory, with activations of that type.
function M.shared_bytes(config, dtype)
  local plan = plan_of(config, dtype)
  local words = words_of_acts(plan) + size(plan.codes) + size(plan.scales)
  return 4 * (words + (config.has_zeros and size(plan.zeros) or 0))
end

-- {====== A warp ======

local Warp = {}
Warp.__index = Warp

local function new_rings(plan, variant)
  local memory = shared(u32, words_of_acts(plan))
  return { memory = memory, acts = view(memory, plan.acts), codes = shared(u32, plan.codes),
           scales = shared(u32, plan.scales),
           zeros = variant.has_zeros and shared(u32, plan.zeros) }
end

-- Row i of the group's activations, and whether there is one.
local function row_of(args, i)
  local group, index = args.at.group, args.at.gather
  if index then return indexed.place(indexed.part(args.X, 0, index, group), i) end
  return group.first + i, i < group.rows
end

local function new_warp(variant, plan, args)
  local lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
  local rings = new_rings(plan, variant)
  local n_strips, at = cdiv(args.n_rows, ROWS), args.at
  local self = { variant = variant, plan = plan, args = args, lane = lane, warp = warp,
    memory = rings.memory, n_units = args.k // plan.unit, n_groups = args.k // args.group,
    codes = rings.codes(_, lane, _, _, _, warp), acts = rings.acts(_, lane, _, _, _, warp),
    scales = rings.scales(_, lane, _, _, _, warp),
    zeros = variant.has_zeros and rings.zeros(_, lane, _, _, _, warp),
    sums = fragment(f32, {4, variant.strips, variant.columns}),
    B = fragment(u32, {4, plan.halves, variant.columns}), mma = atom(atoms[plan.dtype.name]) }
  self.strips = {} -- beyond the last row the last strip comes again
  for s = 0, variant.strips - 1 do
    self.strips[s] = at.l * n_strips + min(at.m * variant.strips + s, n_strips - 1)
  end
  self.rows = {}   -- of A, the lane's columns; those beyond the last one are 0
  for j = 0, variant.columns - 1 do
    local row, is_there = row_of(args, COLUMNS * (at.n * variant.columns + j) + lane // 4)
    self.rows[j] = { row = row, is_there = is_there }
  end
  clear(self.sums)
  if variant.ragged then clear(self.acts) end
  return setmetatable(self, Warp)
end

-- The warp's i-th step begins there.
function Warp:first(i) return (i * self.variant.warps + self.warp) * self.variant.step end

-- Codes and scales from k on are on their way.
function Warp:bring_weights(k, stage)
  local plan, args, lane = self.plan, self.args, self.lane
  for s = 0, self.variant.strips - 1 do
    local unit = self.strips[s] * self.n_units + k // plan.unit
    for u = 0, plan.units - 1 do
      copy(args.codes(_, (unit + u) * WARP + lane), self.codes(_, u, s, stage))
    end
    for v = 0, plan.spans - 1 do
      local group = self.strips[s] * self.n_groups
        + formats.group_of(args.group, k + v * plan.span, lane)
      local at = group * 8 + lane // 4
      copy(args.scales(_, at), self.scales(_, v, s, stage))
      if self.zeros then copy(args.zeros(_, at), self.zeros(_, v, s, stage)) end
    end
  end
end

-- The lane's activations from k on.
function Warp:bring_activations(k, stage)
  for j = 0, self.variant.columns - 1 do
    local of = self.rows[j]
    if not self.variant.ragged or of.is_there then
      for h = 0, self.plan.halves - 1 do
        local at = (k + h * HALF_STEP) // 8 + self.lane % 4
        copy(self.args.vectors(of.row, {_, at}), self.acts(_, h, j, stage))
      end
    end
  end
end

-- Scales of rows g and g + 8.
local function scales_of(self, v, s, stage)
  local at = self.scales(_, v, s, stage)
  return packed.scales(self.variant.dtype_of_scales, function(i) return at[i] end)
end

-- Both scales as words of two equal halves of the activations' type.
local function factors_of(self, upper, lower)
  local dtype = self.plan.dtype
  local function twice(x)
    local half = cast(bitcast(cast(x, dtype), u16), u32)
    return half << 16 | half
  end
  return { twice(upper), twice(lower) }
end

-- Products of one strip and what of K has one scale, the v-th of a step. A sum of a tile of K is of
-- one scale unless a group has 16 elements: then its numbers are multiplied.
function Warp:multiply_span(v, s, stage)
  local plan, variant, dtype = self.plan, self.variant, self.plan.dtype
  local some = fragment(f32, {4, variant.columns})
  clear(some)
  local pair
  if self.zeros then pair = self.zeros[{0, v, s, stage}] end
  local zero = plan.format.zeros(dtype, pair)
  local words, upper, lower = fragment(u32, 4), scales_of(self, v, s, stage)
  local factors
  if variant.rows_of_group < plan.span then
    factors, upper, lower = factors_of(self, upper, lower), 1.0, 1.0
  end
  for t = v * plan.span // 16, (v + 1) * plan.span // 16 - 1 do
    if t % plan.format.tiles == 0 or t == v * plan.span // 16 then
      copy(self.codes(_, t // plan.format.tiles, s, stage), words)
    end
    local A = packed.weight(plan.format, dtype, words, t % plan.format.tiles, zero, factors)
    for j = 0, variant.columns - 1 do
      local B = packed.of(dtype, self.B[{t % 2 * 2, t // 2, j}],
        self.B[{t % 2 * 2 + 1, t // 2, j}])
      gemm(self.mma, A, B, some(_, j))
    end
  end
  for j = 0, variant.columns - 1 do
    for i = 0, 3 do
      local scale = i < 2 and upper or lower
      self.sums[{i, s, j}] = fma(some[{i, j}], scale, self.sums[{i, s, j}])
    end
  end
end

-- A lane's eight activations as four pairs.
function Warp:take(from, to)
  if self.plan.act_words == size(to) then return copy(from, to) end
  local words = fragment(u32, self.plan.act_words)
  copy(from, words)
  packed.widen(self.variant.dtype, words, to)
end

function Warp:multiply(stage)
  for j = 0, self.variant.columns - 1 do
    for h = 0, self.plan.halves - 1 do self:take(self.acts(_, h, j, stage), self.B(_, h, j)) end
  end
  for s = 0, self.variant.strips - 1 do
    for v = 0, self.plan.spans - 1 do self:multiply_span(v, s, stage) end
  end
end

-- What launches before this one in the stream write is read after this only.
local function await()
  grid_dependency_wait()
  grid_dependency_launch()
end

-- All of the warp's steps.
function Warp:run()
  local variant, last = self.variant, self.variant.stages - 1
  local n = cdiv(self.args.k // variant.step - self.warp, variant.warps)
  for i = 0, last - 1 do
    if i < n then self:bring_weights(self:first(i), i) end
  end
  if variant.pdl and not variant.grouped then await() end
  for i = 0, last - 1 do
    if i < n then self:bring_activations(self:first(i), i) end
    cp_async_commit()
  end
  local stage, free = 0, last
  for i in range(n) do
    cp_async_wait(last - 1)
    if i + last < n then
      self:bring_weights(self:first(i + last), free)
      self:bring_activations(self:first(i + last), free)
    end
    cp_async_commit()
    self:multiply(stage)
    free = stage
    stage = where(stage == last, 0, stage + 1)
  end
  cp_async_wait(0)
end

-- The warp's sums to where all warps' are.
function Warp:put(sS)
  local g, c = self.lane // 4, self.lane % 4
  for s = 0, self.variant.strips - 1 do
    for j = 0, self.variant.columns - 1 do
      for i = 0, 3 do
        sS[{ROWS * s + g + i // 2 * 8, COLUMNS * j + 2 * c + i % 2, self.warp}] =
          self.sums[{i, s, j}]
      end
    end
  end
end

-- {====== The kernel ======

-- What the block computes, as gemm_raster.tile returns it, with its group of rows of activations.
local function tile_of(variant, plan, X, C, operands)
  if variant.grouped then
    local at = raster.grouped_tile(variant, C, operands)
    at.scales, at.operands, at.extent = scaling.take(variant, operands), operands,
      {size(C, 0), size(C, 1)}
    if not variant.nested_C then at.C = guard(at.C) end
    return at
  end
  local n_columns = cdiv(size(X, 0), plan.bM)
  return { m = blockIdx.x // n_columns, n = blockIdx.x % n_columns, l = 0,
    group = { first = 0, rows = size(X, 0) }, places = nested.places(C(_, _, 0)),
    C = variant.nested_C and C(_, _, 0) or raster.matrix(variant, C, 0),
    scales = scaling.take(variant, operands), operands = operands,
    extent = {size(C, 0), size(C, 1)} }
end

-- All warps' sums of a tile to C, an element of all warps at a time.
local function finish(variant, plan, tiled, at, memory, alpha, beta)
  local extent, place = {plan.bN, plan.bM}, {at.m, at.n}
  local thr, sS = tiled:get_slice(threadIdx.x), view(recast(memory, f32), plan.sums)
  local part = variant.nested_C and nested.elements(variant, at.C)
    or thr:partition_S(tile(at.C, extent, place))
  local first = thr:partition_S(sS(_, _, 0))
  local sums, some = fragment(f32, shape(first)), fragment(f32, shape(first))
  copy(first, sums)
  for w = 1, variant.warps - 1 do
    copy(thr:partition_S(sS(_, _, w)), some)
    axpby(1, some, 1, sums)
  end
  epilogue.begin(variant, alpha, beta, at):store(sums, part,
    thr:partition_S(tile(at.places, extent, place)))
end

function M.make(variant)
  local plan = plan_of(variant, variant.dtype)
  local each = variant.glu and 2 or 1 -- rows of the weight of which a thread has adjacent ones
  local along = math.min(plan.bN // each, M.n_threads(variant))
  local across = math.min(plan.bM, M.n_threads(variant) // along)
  local by_one = tiled_copy(atom("UniversalCopy<u32>", f32), layout{along, across}, layout{each, 1})
  reduce.plan(variant, by_one, along * across)

  -- codes (4,n), scales (2,n), zeros (n) as packed_weights.lua has them; X (M,K,1), C (N,M,1)
  return kernel(variant.name, function(codes, scales, zeros, X, C, alpha, beta, ...)
    if variant.pdl and variant.grouped then await() end
    local at = tile_of(variant, plan, X, C, {...})
    if variant.grouped then
      if not at.is_there then return end
    end
    local words = recast(X(_, _, 0), u32)
    local args = { at = at, codes = formats.static(codes, 4), n_rows = size(C, 0),
      scales = recast(formats.static(scales, 2), u32), zeros = formats.static(zeros, 1),
      X = X(_, _, 0), vectors = view(words, layout({size(X, 0),
        {plan.act_words, size(X, 1) // 8}},
        {stride(words)[1], {1, plan.act_words}})),
      k = size(X, 1), group = variant.rows_of_group }
    local warp = new_warp(variant, plan, args)
    warp:run()
    sync_threads()
    warp:put(view(recast(warp.memory, f32), plan.sums))
    sync_threads()
    if threadIdx.x < along * across then
      finish(variant, plan, by_one, at, warp.memory, alpha, beta)
    end
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
