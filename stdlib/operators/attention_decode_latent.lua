-- attention_decode_latent.lua: attention_decode where values are the first 512 columns of keys of
-- 576, as in multi-head latent attention, bf16 and f16, by the tensor cores of GPUs from sm_80 on.
-- A block's warps work on one tile of keys, which comes once by cp.async. For the scores a warp has
-- a quarter of the keys and half of the depth, and its half of the queries in registers; the halves
-- meet in shared memory, from which each warp reads the scores of all keys. Each does the softmax
-- of all of them, so that none waits for another one's, and has 64 columns of the sums.
-- With `narrow`, keys are of 8 bits, and become f16 where they are operands; the last 64 columns
-- may be in a tensor of the queries' type, K_rope. Where scales are of parts of keys, scores get
-- them part by part, and P gets those of values.
local merge = require "cuttle.attention_decode_merge"
local narrow = require "cuttle.attention_decode_narrow"
local pages = require "cuttle.attention_decode_pages"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local M = {}

local WARP <const>, WARPS <const>, ROWS <const> = 32, 8, 16
local QUARTERS <const>, HALVES <const> = 4, 2 -- of a tile's keys, and of the depth, by warps
local DEPTH <const>, DEPTH_V <const> = 576, 512
local STEP <const> = 32 -- of the depth
local N_STEPS <const> = DEPTH // STEP // HALVES
local ATOM <const> = 16 -- of the depth, or of keys
local ROWS_AT_ONCE <const> = WARP * WARPS // 8 -- of a tile that comes: eight threads have a row
local PAD <const> = 8 -- behind a row of scores, so that rows lie in different banks
local OVERHEAD <const> = 256 -- of a piece, in keys

-- Why its kernel cannot compute these types and scales, or nil.
local function trouble_of_types(config, p)
  local n = p.depth - p.depth_k
  if p.by_token then
    return "its kernel computes no scales of each key"
  elseif not config.narrow then
    if p.kv_dtype ~= p.dtype or n > 0 or p.k_groups or p.v_groups then
      return ("its kernel takes K of %s with all %d columns, and scales of heads"):format(p.dtype,
        DEPTH)
    end
  elseif p.kv_dtype ~= f8e4m3 and p.kv_dtype ~= i8 or n ~= 0 and n ~= DEPTH - DEPTH_V then
    return ("its kernel computes K of f8e4m3 and i8 with k_rope of %d columns, or without"):format(
      DEPTH - DEPTH_V)
  end
  for name, groups in pairs { k_scale = p.k_groups or 1, v_scale = p.v_groups or 1 } do
    if groups > 8 or DEPTH_V % groups ~= 0 or groups > 1 and name == "k_scale" and n == 0 then
      return ("its kernel takes %s for each head, key, or 2, 4 or 8 parts of %d columns"):format(
        name, DEPTH_V)
    end
  end
end

--- See attention_decode.lua.
function M.trouble(config, p)
  if p.depth ~= DEPTH or p.depth_v ~= DEPTH_V or not p.is_latent then
    return ("its kernel computes keys of %d of which values are the first %d columns"):format(DEPTH,
      DEPTH_V)
  end
  return trouble_of_types(config, p) or tiles.trouble(p)
end

--- See attention_decode.lua.
function M.shape(config)
  return { keys = config.keys, step = config.keys, rows = ROWS, warps = WARPS, found = 1,
           stages = config.stages, resident = 1, overhead = OVERHEAD // config.keys,
           narrow = config.narrow or false }
end

--- See attention_decode.lua.
function M.shared_bytes(config, p)
  local rows = math.min(ROWS, p.n_q * p.group)
  local scores = HALVES * ROWS * (config.keys + PAD)
  local key = (p.depth_k * p.kv_dtype.bits + (p.depth - p.depth_k) * p.dtype.bits) // 8
    + 4 * ((p.k_groups or 0) + (p.v_groups or 0))
  return config.keys * config.stages * key + ROWS * DEPTH * 2 + 4 * (rows * (DEPTH_V + 2) + scores)
    + 128
end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, keys = variant.narrow and f16 or variant.dtype, variant.keys
  local n_keys, step = keys // QUARTERS, variant.narrow and ATOM or STEP
  local function product(type, shape)
    return tiled_mma(tiles.atoms[type.name], layout{1, 1, 1}, shape)
  end
  local scores, sums = product(dtype, {ROWS, n_keys, step}), product(dtype, {ROWS, ATOM, ATOM})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  local plan = {
    dtype = dtype, scores = scores, sums = sums, step = step,
    Q = tiles.swizzled(dtype, ROWS, variant.depth_k),
    K = tiles.swizzled(variant.kv_dtype, keys, variant.depth_k, variant.stages),
    read_Q = tiled_copy_A(by_16, scores), read_K = tiled_copy_B(by_16, scores),
    read_V = tiled_copy_B(transposed, sums),
  }
  if variant.rope then
    local own, n = variant.dtype, variant.depth - variant.depth_k
    local rope, read = product(own, {ROWS, n_keys, STEP}), atom("SM75_U32x4_LDSM_N", own)
    plan.rope = { product = rope, Q = tiles.swizzled(own, ROWS, n),
                  K = tiles.swizzled(own, keys, n, variant.stages),
                  read_Q = tiled_copy_A(read, rope), read_K = tiled_copy_B(read, rope) }
  end
  return plan
end

-- {====== A block's threads ======

local Block = {}
Block.__index = Block

-- A page for each of a thread's keys.
local function no_pages(variant)
  local of = {}
  for i = 0, variant.keys // ROWS_AT_ONCE - 1 do of[i] = i32(0) end
  return of
end

local function new_block(variant, plan, args, smem)
  local lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
  local thr, thr_sums = plan.scores:get_slice(lane), plan.sums:get_slice(lane)
  local keys, columns = variant.keys, DEPTH_V // WARPS
  local self = { variant = variant, plan = plan, args = args, smem = smem, lane = lane, warp = warp,
    page = no_pages(variant),
    thr = thr, Q = fragment(plan.dtype, plan.scores:partition_shape_A{ROWS,
      variant.depth_k // HALVES}),
    half = fragment(f32, plan.scores:partition_shape_C{ROWS, keys // QUARTERS}),
    S = fragment(f32, plan.sums:partition_shape_C{ROWS, keys}),
    O = fragment(f32, plan.sums:partition_shape_C{ROWS, columns}),
    P = fragment(plan.dtype, plan.sums:partition_shape_C{ROWS, keys}),
    thr_sums = thr_sums, place = thr_sums:partition_C(identity_tensor{ROWS, keys}),
    place_O = thr_sums:partition_C(identity_tensor{ROWS, columns}),
    place_half = thr:partition_C(identity_tensor{ROWS, keys // QUARTERS}),
    lane_Q = plan.read_Q:get_slice(lane), lane_K = plan.read_K:get_slice(lane),
    lane_V = plan.read_V:get_slice(lane) }
  if not variant.narrow then
    self.K = thr:partition_fragment_B(tile(smem.K(_, _, 0), {keys // QUARTERS, STEP}, {0, 0}))
    self.V = thr_sums:partition_fragment_B(select(tile(smem.K(_, _, 0), {keys, columns}, {0, 0}), 1,
      0))
  end
  self.some_S, self.some_O = tiles.used(variant, self.S), tiles.used(variant, self.O)
  self.rows = softmax.new_rows(self.some_S)
  return setmetatable(self, Block)
end

-- The thread's i-th key of the tile from `first` on.
local function own_key(piece, first, i)
  return min(first + i * ROWS_AT_ONCE + threadIdx.x // 8, piece.last - 1)
end

-- The pages of its keys, if there is such a tile of the piece.
function Block:pages_of(piece, first)
  local of = no_pages(self.variant)
  if first < piece.last then
    for i = 0, self.variant.keys // ROWS_AT_ONCE - 1 do
      of[i] = pages.page(self.variant, self.args, piece.b, own_key(piece, first, i))
    end
  end
  return of
end

-- A row of t, of n columns, is on its way to a row of a slot: eight threads have a row.
local function bring_row(t, to, n)
  local width = min(tiles.wide(t.dtype), n)
  for j in unroll(0, cdiv(n, 8 * width)) do
    local at = threadIdx.x % 8 + 8 * j
    local function one() copy(tile(t, {width}, {at}), tile(to, {width}, {at})) end
    if n % (8 * width) == 0 then
      one()
    elseif at < n // width then
      one()
    end
  end
end

-- The tile is on its way, if it is the piece's.
function Block:bring(piece, first, slot, of)
  if first < piece.last then
    local variant, args, smem = self.variant, self.args, self.smem
    local kv_head = merge.key_head(variant, piece.head)
    for i = 0, variant.keys // ROWS_AT_ONCE - 1 do
      local row = i * ROWS_AT_ONCE + threadIdx.x // 8
      local in_page = pages.row_in_page(variant, own_key(piece, first, i))
      local function bring(t, to, n)
        bring_row(t(in_page, _, kv_head, of[i]), to(row, _, slot), n)
      end
      bring(args.K, smem.K, variant.depth_k)
      if variant.rope then bring(args.K_rope, smem.K_rope, variant.depth - variant.depth_k) end
      if variant.k_groups then bring(args.k_scale, smem.k_scale, variant.k_groups) end
      if variant.v_groups then bring(args.v_scale, smem.v_scale, variant.v_groups) end
    end
  end
  cp_async_commit()
end

-- The first tiles of a piece are on their way, and `page` is of the next one.
function Block:begin(piece)
  local n, keys, of = self.variant.stages - 1, self.variant.keys, {}
  for i = 0, n - 1 do of[i] = self:pages_of(piece, piece.first + i * keys) end
  for i = 0, n - 1 do self:bring(piece, piece.first + i * keys, i, of[i]) end
  self.page = self:pages_of(piece, piece.first + n * keys)
end

-- The warp's half of the queries, from shared memory.
function Block:read_Q()
  local plan, half = self.plan, self.warp // QUARTERS
  local from, to = self.lane_Q:partition_S(self.smem.Q), self.lane_Q:retile_D(self.Q)
  local n = self.variant.depth_k // HALVES // plan.step
  for i in unroll(0, n) do copy(plan.read_Q, from(_, _, half * n + i), to(_, _, i)) end
end

-- Adds to `sums` the products of K_rope of a tile, of the warp's half of its columns.
function Block:multiply_rope(slot, sums)
  local rope, smem, lane = self.plan.rope, self.smem, self.lane
  local quarter, half = self.warp % QUARTERS, self.warp // QUARTERS
  local thr, n = rope.product:get_slice(lane), self.variant.keys // QUARTERS
  local q, k = tile(smem.Q_rope, {ROWS, STEP}, {0, half}),
    tile(smem.K_rope(_, _, slot), {n, STEP}, {quarter, half})
  local Q, K = thr:partition_fragment_A(q), thr:partition_fragment_B(k)
  local lane_Q, lane_K = rope.read_Q:get_slice(lane), rope.read_K:get_slice(lane)
  copy(rope.read_Q, lane_Q:partition_S(q), lane_Q:retile_D(Q))
  copy(rope.read_K, lane_K:partition_S(k), lane_K:retile_D(K))
  gemm(rope.product, Q, K, sums)
end

-- The same of part i of the half's columns of 8 bits, times their scale.
function Block:multiply_part(slot, i, n_parts, key_scale)
  local variant, quarter, half = self.variant, self.warp % QUARTERS, self.warp // QUARTERS
  local steps, at = variant.depth_k // HALVES // STEP // n_parts, half * n_parts + i
  local sums, per = fragment_like(self.half), STEP // ATOM
  clear(sums)
  for j in unroll(0, steps) do
    local s = tile(self.smem.K(_, _, slot), {ATOM, STEP}, {quarter, at * steps + j})
    gemm(self.plan.scores, tile(self.Q, {size(self.Q, 0), 1, per}, {0, 0, i * steps + j}),
      narrow.keys(s, self.lane), sums)
  end
  for e in unroll(0, size(sums)) do
    local by = key_scale
    if variant.k_groups then
      local key = quarter * ATOM + self.place_half[e][2]
      by = self.smem.k_scale[{ key, variant.k_groups == 1 and 0 or at, slot }]
    end
    self.half[e] = self.half[e] + (by == nil and sums[e] or sums[e] * by)
  end
end

-- The products of half of the depth of a tile of 8 bits.
function Block:multiply_narrow(slot, key_scale)
  if self.variant.rope then self:multiply_rope(slot, self.half) end
  local n_parts = max((self.variant.k_groups or 1) // HALVES, 1)
  for i = 0, n_parts - 1 do self:multiply_part(slot, i, n_parts, key_scale) end
end

-- The same of a tile of the queries' type.
function Block:multiply_wide(slot)
  local plan, quarter, half = self.plan, self.warp % QUARTERS, self.warp // QUARTERS
  local n = self.variant.keys // QUARTERS
  local from = self.lane_K:partition_S(tile(self.smem.K(_, _, slot), {n, DEPTH}, {quarter, 0}))
  local per = size(self.K, 2) -- atoms of a step
  for i in unroll(0, N_STEPS) do
    copy(plan.read_K, from(_, _, half * N_STEPS + i), self.lane_K:retile_D(self.K)(_, _, 0))
    gemm(plan.scores, tile(self.Q, {size(self.Q, 0), 1, per}, {0, 0, i}), self.K, self.half)
  end
end

-- The warp's part of the scores of a tile, to shared memory.
function Block:multiply_QK(slot, key_scale)
  local quarter, half, n = self.warp % QUARTERS, self.warp // QUARTERS,
    self.variant.keys // QUARTERS
  clear(self.half)
  if self.variant.narrow then
    self:multiply_narrow(slot, key_scale)
  else
    self:multiply_wide(slot)
  end
  copy(self.half, self.thr:partition_C(tile(self.smem.S(_, _, half), {ROWS, n}, {0, quarter})))
end

-- The scores of all keys, behind a barrier: the sum of both halves.
function Block:read_scores()
  local a = self.thr_sums:partition_C(self.smem.S(_, _, 0))
  local b = self.thr_sums:partition_C(self.smem.S(_, _, 1))
  for j in unroll(0, size(self.S, 2)) do
    local S, other = self.S(_, _, j), fragment_like(self.S(_, _, j))
    copy(a(_, _, j), S)
    copy(b(_, _, j), other)
    axpby(1.0, other, 1.0, S)
  end
end

-- P times the scales of values, where those are of each key.
function Block:scale_P(slot)
  local groups = self.variant.v_groups
  if groups then
    local group = self.warp * groups // WARPS
    for e in unroll(0, size(self.S)) do
      self.S[e] = self.S[e] * self.smem.v_scale[{ self.place[e][2], group, slot }]
    end
  end
end

function Block:multiply_PV(slot)
  local plan, columns = self.plan, DEPTH_V // WARPS
  self:scale_P(slot)
  copy(cast(self.S, plan.dtype), self.P)
  local P = plan.sums:retile_A(self.P)
  local from, to
  if not self.variant.narrow then
    local s = tile(self.smem.K(_, _, slot), {self.variant.keys, columns}, {0, self.warp})
    from, to = self.lane_V:partition_S(select(s, 1, 0)), self.lane_V:retile_D(self.V)
  end
  for k in unroll(0, size(P, 2)) do -- 16 keys
    local V
    if self.variant.narrow then
      local s = tile(self.smem.K(_, _, slot), {ATOM, columns}, {k, self.warp})
      V = narrow.values(s, self.lane)(_, _, 0)
    else
      copy(plan.read_V, from(_, _, k), to(_, _, k))
      V = self.V(_, _, k)
    end
    gemm(plan.sums, P(_, _, k), V, self.O)
  end
end

-- The scale of a piece's keys, which scores get while they are computed, or nil.
function Block:key_scale(piece)
  if self.variant.k_groups or not merge.scales_keys(self.variant) then return nil end
  return self.args.k_scale[{ merge.key_head(self.variant, piece.head), piece.b }]
end

function Block:compute(piece, factor)
  local stages, keys, key_scale = self.variant.stages, self.variant.keys, self:key_scale(piece)
  tiles.clear(self)
  self:read_Q()
  local slot, next_slot = 0, stages - 1
  for first in range(piece.first, piece.last, keys) do
    cp_async_wait(stages - 2)
    sync_threads()
    self:bring(piece, first + (stages - 1) * keys, next_slot, self.page)
    self.page = self:pages_of(piece, first + stages * keys) -- are here by the next turn
    self:multiply_QK(slot, key_scale)
    sync_threads()
    self:read_scores()
    tiles.softmax(self, piece, first, keys, factor)
    self:multiply_PV(slot)
    slot, next_slot = (slot + 1) % stages, slot
  end
  sync_threads() -- tiles are free
end

-- {====== The kernel ======

-- A block's shared memory.
local function new_shared(variant, plan)
  local smem, keys, row = merge.new_shared(variant), variant.keys, variant.keys + PAD
  smem.Q, smem.K = shared(plan.dtype, plan.Q), shared(variant.kv_dtype, plan.K)
  smem.S = shared(f32, layout({ROWS, keys, HALVES}, {row, 1, ROWS * row}))
  if variant.rope then
    smem.Q_rope = shared(variant.dtype, plan.rope.Q)
    smem.K_rope = shared(variant.dtype, plan.rope.K)
  end
  local function scales(n)
    return n and shared(f32, tile_to_shape(row_major{keys, n}, {keys, n, variant.stages}))
  end
  smem.k_scale, smem.v_scale = scales(variant.k_groups), scales(variant.v_groups)
  return smem
end

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name .. "_latent", function(Q, K, V, O, LSE, lengths, capacity, n_parts,
                                                    parts, ml, table, k_scale, v_scale, mask,
                                                    K_rope, c, ...)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, k_scale = k_scale,
                   v_scale = v_scale, mask = mask, K_rope = K_rope, operands = { ... } }
    local block = new_block(variant, plan, args, new_shared(variant, plan))
    grid_dependency_wait()
    grid_dependency_launch()
    tiles.each_piece(block, k_scale, c, function(first, column)
      local warps = block.warp * (DEPTH_V // WARPS)
      return warps + (variant.narrow and narrow.column(first, column) or first + column)
    end)
  end, { min_blocks = 1 })
end

return M
