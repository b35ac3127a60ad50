-- attention_decode_latent.lua: attention_decode where values are the first 512 columns of keys of
-- 576, as in multi-head latent attention, bf16 and f16, by the tensor cores of GPUs from sm_80 on.
-- A block's warps work on one tile of keys, which comes once by cp.async. For the scores a warp has
-- a quarter of the keys and half of the depth, and its half of the queries in registers; the halves
-- meet in shared memory, from which each warp reads the scores of all keys. Each does the softmax
-- of all of them, so that none waits for another one's, and has 64 columns of the sums.
local internal = ...
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local M = {}

local WARP <const>, WARPS <const>, ROWS <const> = 32, 8, 16
local QUARTERS <const>, HALVES <const> = 4, 2 -- of a tile's keys, and of the depth, by warps
local DEPTH <const>, DEPTH_V <const> = 576, 512
local STEP <const> = 32 -- of the depth
local N_STEPS <const> = DEPTH // STEP // HALVES
local ROWS_AT_ONCE <const> = WARP * WARPS // 8 -- of a tile that comes: eight threads have a row
local PAD <const> = 8 -- behind a row of scores, so that rows lie in different banks
local OVERHEAD <const> = 256 -- of a piece, in keys

-- Are values the first columns of keys?
local function is_latent(p)
  for _, mode in ipairs { 0, 1, 2, 3 } do
    if size(p.K, mode) > 1 and stride(p.K, mode) ~= stride(p.V, mode) and size(p.V, mode) > 1 then
      return false
    end
  end
  return internal.launch.address(p.K) == internal.launch.address(p.V)
end

--- See attention_decode.lua.
function M.trouble(_, p)
  if p.depth ~= DEPTH or p.depth_v ~= DEPTH_V or not is_latent(p) then
    return ("its kernel computes keys of %d of which values are the first %d columns"):format(DEPTH,
      DEPTH_V)
  end
  return tiles.trouble(p)
end

--- See attention_decode.lua.
function M.shape(config)
  return { keys = config.keys, step = config.keys, rows = ROWS, warps = WARPS, found = 1,
           stages = config.stages, resident = 1, overhead = OVERHEAD // config.keys }
end

--- See attention_decode.lua.
function M.shared_bytes(config, p)
  local rows = math.min(ROWS, p.n_q * p.group)
  local scores = HALVES * ROWS * (config.keys + PAD)
  return (config.keys * config.stages + ROWS) * DEPTH * 2 + 4 * (rows * (DEPTH_V + 2) + scores)
    + 128
end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, keys = variant.dtype, variant.keys
  local name = tiles.atoms[dtype.name]
  local scores = tiled_mma(name, layout{1, 1, 1}, {ROWS, keys // QUARTERS, STEP})
  local sums = tiled_mma(name, layout{1, 1, 1}, {ROWS, 16, 16})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  return {
    scores = scores, sums = sums, Q = tiles.swizzled(dtype, ROWS, DEPTH),
    K = tiles.swizzled(dtype, keys, DEPTH, variant.stages),
    read_Q = tiled_copy_A(by_16, scores), read_K = tiled_copy_B(by_16, scores),
    read_V = tiled_copy_B(transposed, sums),
  }
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
  local sK = tile(smem.K(_, _, 0), {keys // QUARTERS, STEP}, {0, 0})
  local sV = select(tile(smem.K(_, _, 0), {keys, columns}, {0, 0}), 1, 0)
  local self = { variant = variant, plan = plan, args = args, smem = smem, lane = lane, warp = warp,
    page = no_pages(variant),
    thr = thr, K = thr:partition_fragment_B(sK),
    V = thr_sums:partition_fragment_B(sV),
    Q = fragment(variant.dtype, plan.scores:partition_shape_A{ROWS, DEPTH // HALVES}),
    half = fragment(f32, plan.scores:partition_shape_C{ROWS, keys // QUARTERS}),
    S = fragment(f32, plan.sums:partition_shape_C{ROWS, keys}),
    O = fragment(f32, plan.sums:partition_shape_C{ROWS, columns}),
    P = fragment(variant.dtype, plan.sums:partition_shape_C{ROWS, keys}),
    thr_sums = thr_sums, place = thr_sums:partition_C(identity_tensor{ROWS, keys}),
    place_O = thr_sums:partition_C(identity_tensor{ROWS, columns}),
    lane_Q = plan.read_Q:get_slice(lane), lane_K = plan.read_K:get_slice(lane),
    lane_V = plan.read_V:get_slice(lane) }
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

-- The tile is on its way, if it is the piece's.
function Block:bring(piece, first, slot, of)
  if first < piece.last then
    local variant, n = self.variant, tiles.wide(self.variant.dtype)
    local kv_head = merge.key_head(variant, piece.head)
    for i = 0, variant.keys // ROWS_AT_ONCE - 1 do
      local row = i * ROWS_AT_ONCE + threadIdx.x // 8
      local key = self.args.K(pages.row_in_page(variant, own_key(piece, first, i)), _, kv_head,
        of[i])
      for j in unroll(0, DEPTH // n // 8) do
        local at = threadIdx.x % 8 + 8 * j
        copy(tile(key, {n}, {at}), tile(self.smem.K(row, _, slot), {n}, {at}))
      end
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
  local from = self.lane_Q:partition_S(self.smem.Q)
  local to = self.lane_Q:retile_D(self.Q)
  for i in unroll(0, N_STEPS) do
    copy(self.plan.read_Q, from(_, _, self.warp // QUARTERS * N_STEPS + i), to(_, _, i))
  end
end

-- The warp's part of the scores of a tile, to shared memory.
function Block:multiply_QK(slot)
  local plan, quarter, half = self.plan, self.warp % QUARTERS, self.warp // QUARTERS
  local n = self.variant.keys // QUARTERS
  local from = self.lane_K:partition_S(tile(self.smem.K(_, _, slot), {n, DEPTH}, {quarter, 0}))
  local per = size(self.K, 2) -- atoms of a step
  clear(self.half)
  for i in unroll(0, N_STEPS) do
    copy(plan.read_K, from(_, _, half * N_STEPS + i), self.lane_K:retile_D(self.K)(_, _, 0))
    gemm(plan.scores, tile(self.Q, {size(self.Q, 0), 1, per}, {0, 0, i}), self.K, self.half)
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

function Block:multiply_PV(slot)
  local plan = self.plan
  local columns = tile(self.smem.K(_, _, slot), {self.variant.keys, DEPTH_V // WARPS},
    {0, self.warp})
  local sV = select(columns, 1, 0)
  local from, to = self.lane_V:partition_S(sV), self.lane_V:retile_D(self.V)
  copy(cast(self.S, self.variant.dtype), self.P)
  local P = plan.sums:retile_A(self.P)
  for k in unroll(0, size(P, 2)) do -- 16 keys
    copy(plan.read_V, from(_, _, k), to(_, _, k))
    gemm(plan.sums, P(_, _, k), self.V(_, _, k), self.O)
  end
end

function Block:compute(piece, factor)
  local stages, keys = self.variant.stages, self.variant.keys
  tiles.clear(self)
  self:read_Q()
  local slot, next_slot = 0, stages - 1
  for first in range(piece.first, piece.last, keys) do
    cp_async_wait(stages - 2)
    sync_threads()
    self:bring(piece, first + (stages - 1) * keys, next_slot, self.page)
    self.page = self:pages_of(piece, first + stages * keys) -- are here by the next turn
    self:multiply_QK(slot)
    sync_threads()
    self:read_scores()
    tiles.softmax(self, piece, first, keys, factor)
    self:multiply_PV(slot)
    slot, next_slot = (slot + 1) % stages, slot
  end
  sync_threads() -- tiles are free
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name .. "_latent", function(Q, K, V, O, LSE, lengths, capacity, n_parts,
                                                    parts, ml, table, k_scale, v_scale, mask, c)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, v_scale = v_scale,
                   mask = mask }
    local smem = merge.new_shared(variant)
    smem.Q, smem.K = shared(variant.dtype, plan.Q), shared(variant.dtype, plan.K)
    local row = variant.keys + PAD
    smem.S = shared(f32, layout({ROWS, variant.keys, HALVES}, {row, 1, ROWS * row}))
    local block = new_block(variant, plan, args, smem)
    grid_dependency_wait()
    grid_dependency_launch()
    tiles.each_piece(block, k_scale, c, function(first_column)
      return first_column + block.warp * (DEPTH_V // WARPS)
    end)
  end, { min_blocks = 1 })
end

return M
