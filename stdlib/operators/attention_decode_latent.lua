-- attention_decode_latent.lua: attention_decode where values are the first 512 columns of keys of
-- 576, as in multi-head latent attention, bf16 and f16, by the tensor cores of GPUs from sm_80 on.
-- A block's warps work on one tile of 32 keys, which comes once by cp.async. For the scores a warp
-- has 8 keys and half of the depth; the halves meet in shared memory, from which each warp reads
-- the scores of all keys. Each does the softmax of all of them, so that none waits for another
-- one's, and has 64 columns of the sums.
local internal = ...
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local M = {}

local WARP <const>, WARPS <const>, ROWS <const>, KEYS <const> = 32, 8, 16, 32
local DEPTH <const>, DEPTH_V <const> = 576, 512
local STEP <const> = 32 -- of the depth
local OVERHEAD <const> = 8 -- of a piece, in units

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
  return { keys = KEYS, step = KEYS, rows = ROWS, warps = WARPS, found = 1, stages = config.stages,
           resident = 1, overhead = OVERHEAD }
end

--- See attention_decode.lua.
function M.shared_bytes(config, p)
  local rows = math.min(ROWS, p.n_q * p.group)
  return (KEYS * config.stages + ROWS) * DEPTH * 2 + 4 * (rows * (DEPTH_V + 2) + 2 * ROWS * KEYS)
    + 128
end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype = variant.dtype
  local name = tiles.atoms[dtype.name]
  local scores = tiled_mma(name, layout{1, 1, 1}, {ROWS, KEYS // 4, STEP})
  local sums = tiled_mma(name, layout{1, 1, 1}, {ROWS, 16, 16})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  return {
    scores = scores, sums = sums, Q = tiles.swizzled(dtype, ROWS, DEPTH),
    K = tiles.swizzled(dtype, KEYS, DEPTH, variant.stages),
    read_Q = tiled_copy_A(by_16, scores), read_K = tiled_copy_B(by_16, scores),
    read_V = tiled_copy_B(transposed, sums),
  }
end

-- {====== A block's threads ======

local Block = {}
Block.__index = Block

local function new_block(variant, plan, args, smem)
  local lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
  local thr, thr_sums = plan.scores:get_slice(lane), plan.sums:get_slice(lane)
  local sQ = tile(smem.Q, {ROWS, STEP}, {0, 0})
  local sK = tile(smem.K(_, _, 0), {KEYS // 4, STEP}, {0, 0})
  local sV = select(tile(smem.K(_, _, 0), {KEYS, DEPTH_V // WARPS}, {0, 0}), 1, 0)
  local self = { variant = variant, plan = plan, args = args, smem = smem, lane = lane, warp = warp,
    page = i32(0),
    thr = thr, Q = thr:partition_fragment_A(sQ), K = thr:partition_fragment_B(sK),
    V = thr_sums:partition_fragment_B(sV),
    half = fragment(f32, plan.scores:partition_shape_C{ROWS, KEYS // 4}),
    S = fragment(f32, plan.sums:partition_shape_C{ROWS, KEYS}),
    O = fragment(f32, plan.sums:partition_shape_C{ROWS, DEPTH_V // WARPS}),
    P = fragment(variant.dtype, plan.sums:partition_shape_C{ROWS, KEYS}),
    thr_sums = thr_sums, place = thr_sums:partition_C(identity_tensor{ROWS, KEYS}),
    place_O = thr_sums:partition_C(identity_tensor{ROWS, DEPTH_V // WARPS}),
    lane_Q = plan.read_Q:get_slice(lane), lane_K = plan.read_K:get_slice(lane),
    lane_V = plan.read_V:get_slice(lane) }
  self.some_S, self.some_O = tiles.used(variant, self.S), tiles.used(variant, self.O)
  self.rows = softmax.new_rows(self.some_S)
  return setmetatable(self, Block)
end

-- The thread's key of the tile from `first` on, of which eight threads have a row.
local function own_key(piece, first) return min(first + threadIdx.x // 8, piece.last - 1) end

-- Its page, if there is such a tile of the piece.
function Block:page_of(piece, first)
  local page = i32(0)
  if first < piece.last then
    page = pages.page(self.variant, self.args, piece.b, own_key(piece, first))
  end
  return page
end

-- The tile is on its way, if it is the piece's.
function Block:bring(piece, first, slot, page)
  if first < piece.last then
    local row, across = threadIdx.x // 8, tiles.wide(self.variant.dtype)
    local key = self.args.K(pages.row_in_page(self.variant, own_key(piece, first)), _,
      merge.key_head(self.variant, piece.head), page)
    for i in unroll(0, DEPTH // across // 8) do
      local j = threadIdx.x % 8 + 8 * i
      copy(tile(key, {across}, {j}), tile(self.smem.K(row, _, slot), {across}, {j}))
    end
  end
  cp_async_commit()
end

-- The first tiles of a piece are on their way, and `page` is of the next one.
function Block:begin(piece)
  local n, of = self.variant.stages - 1, {}
  for i = 0, n - 1 do of[i] = self:page_of(piece, piece.first + i * KEYS) end
  for i = 0, n - 1 do self:bring(piece, piece.first + i * KEYS, i, of[i]) end
  self.page = self:page_of(piece, piece.first + n * KEYS)
end

-- The warp's part of the scores of a tile, to shared memory.
function Block:multiply_QK(slot)
  local plan, keys, half = self.plan, self.warp % 4, self.warp // 4
  local sK = tile(self.smem.K(_, _, slot), {KEYS // 4, DEPTH}, {keys, 0})
  local from_Q, from_K = self.lane_Q:partition_S(self.smem.Q), self.lane_K:partition_S(sK)
  local n = DEPTH // STEP // 2
  clear(self.half)
  for i in unroll(0, n) do
    copy(plan.read_Q, from_Q(_, _, half * n + i), self.lane_Q:retile_D(self.Q)(_, _, 0))
    copy(plan.read_K, from_K(_, _, half * n + i), self.lane_K:retile_D(self.K)(_, _, 0))
    gemm(plan.scores, self.Q, self.K, self.half)
  end
  copy(self.half, self.thr:partition_C(tile(self.smem.S(_, _, half), {ROWS, KEYS // 4}, {0, keys})))
end

-- The scores of all keys, behind a barrier.
function Block:read_scores()
  local a = self.thr_sums:partition_C(self.smem.S(_, _, 0))
  local b = self.thr_sums:partition_C(self.smem.S(_, _, 1))
  local other = fragment_like(self.S)
  copy(a, self.S)
  copy(b, other)
  axpby(1.0, other, 1.0, self.S)
end

function Block:multiply_PV(slot)
  local plan = self.plan
  local sV = select(tile(self.smem.K(_, _, slot), {KEYS, DEPTH_V // WARPS}, {0, self.warp}), 1, 0)
  copy(plan.read_V, self.lane_V:partition_S(sV), self.lane_V:retile_D(self.V))
  copy(cast(self.S, self.variant.dtype), self.P)
  gemm(plan.sums, plan.sums:retile_A(self.P), self.V, self.O)
end

function Block:compute(piece, factor)
  local stages = self.variant.stages
  tiles.clear(self)
  local slot, next_slot = 0, stages - 1
  for first in range(piece.first, piece.last, KEYS) do
    cp_async_wait(stages - 2)
    sync_threads()
    self:bring(piece, first + (stages - 1) * KEYS, next_slot, self.page)
    self.page = self:page_of(piece, first + stages * KEYS) -- is here by the next turn
    self:multiply_QK(slot)
    sync_threads()
    self:read_scores()
    tiles.softmax(self, piece, first, KEYS, factor)
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
    smem.S = shared(f32, layout({ROWS, KEYS, 2}, {KEYS, 1, ROWS * KEYS}))
    local block = new_block(variant, plan, args, smem)
    grid_dependency_wait()
    grid_dependency_launch()
    tiles.each_piece(block, k_scale, c, function(first_column)
      return first_column + block.warp * (DEPTH_V // WARPS)
    end)
  end, { min_blocks = 1 })
end

return M
