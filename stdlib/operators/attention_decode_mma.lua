-- attention_decode_mma.lua: attention_decode by the tensor cores of GPUs from sm_80 on, bf16 and
-- f16. The queries of a key head's group are the rows of an MMA, 16 at a time. Warps of a block
-- take turns at the 16 keys of a unit, and each brings its own by cp.async through a ring of
-- `stages` tiles of keys and values: so warps wait for nothing but their own memory, until the end
-- of a piece. P, which is S packed, is an operand in the registers where it is. Keys and values of
-- 8 bits become f16 on their way from shared memory (attention_decode_narrow.lua), and so do
-- queries.
local merge = require "cuttle.attention_decode_merge"
local narrow = require "cuttle.attention_decode_narrow"
local pages = require "cuttle.attention_decode_pages"
local schedule = require "cuttle.attention_decode_schedule"
local softmax = require "cuttle.attention_softmax"
local internal = ...
local M = {}

local WARP <const>, ROWS <const>, WIDE <const> = 32, 16, 16 -- WIDE: bytes of a copy
local KEYS <const> = 16 -- of a warp's step
local LINE <const> = 128 -- bytes of a line of shared memory, which has all banks once
local STEP <const>, MOST_DEPTH <const> = 32, 256
local OVERHEAD <const> = 2 -- of a piece, in units of each warp: measured on an H200

local atoms <const> = {
  f16 = "SM80_16x8x16_F32F16F16F32_TN", bf16 = "SM80_16x8x16_F32BF16BF16F32_TN",
}

local function is_narrow(dtype) return dtype == i8 or dtype == f8e4m3 end

-- What products are of.
local function operand_type(dtype, kv_dtype) return is_narrow(kv_dtype) and f16 or dtype end

local function wide(dtype) return WIDE * 8 // dtype.bits end

-- Are the rows of t, (S,D,H,B), whole pieces of 16 bytes at such addresses?
local function is_wide(t)
  for mode = 0, 3 do
    local step = stride(t, mode)
    if size(t, mode) > 1 and (mode == 1 and step ~= 1
      or mode ~= 1 and step % wide(t.dtype) ~= 0) then
      return false
    end
  end
  return internal.launch.address(t) % WIDE == 0
end

--- See attention_decode.lua.
function M.trouble(config, p)
  if not atoms[p.dtype.name] then return "its kernel computes bf16 and f16" end
  if is_narrow(p.kv_dtype) ~= (config.narrow or false)
    or not config.narrow and p.kv_dtype ~= p.dtype then
    return ("its kernel computes K and V of %s"):format(config.narrow and "f8e4m3 and i8"
      or p.dtype)
  end
  for _, depth in ipairs { p.depth, p.depth_v } do
    if depth > MOST_DEPTH or depth % STEP ~= 0 then
      return ("its kernel computes multiples of %d up to %d for D"):format(STEP, MOST_DEPTH)
    end
  end
  for _, name in ipairs { "Q", "K", "V" } do
    if not is_wide(p[name]) then
      return ("rows of %s are not whole pieces of 16 bytes at multiples of 16 bytes"):format(name)
    end
  end
end

--- See attention_decode.lua.
function M.shape(config)
  return { keys = KEYS, step = KEYS * config.warps, rows = ROWS, warps = config.warps,
           stages = config.stages, resident = config.resident, narrow = config.narrow or false,
           overhead = OVERHEAD * config.warps }
end

--- Of a block: tiles of keys and values, queries, and what the warps found.
function M.shared_bytes(config, p)
  local tiles = KEYS * config.stages * (p.depth + p.depth_v) * p.kv_dtype.bits // 8
  local rows = math.min(ROWS, p.n_q * p.group)
  local found = 4 * rows * (p.depth_v + 2)
  return config.warps * (tiles + found) + ROWS * p.depth * p.dtype.bits // 8 + LINE
end

-- {====== What is known before the trace ======

-- Rows in shared memory, from which ldmatrix reads 8 without conflicts; more modes follow.
local function swizzled(dtype, rows, depth, ...)
  local n, bits = LINE * 8 // dtype.bits, 3
  while depth % n ~= 0 do n, bits = n // 2, bits - 1 end
  local base = math.tointeger(math.log(wide(dtype), 2))
  return tile_to_shape(composition(swizzle(bits, base, 3), row_major{8, n}), {rows, depth, ...})
end

local function plan_of(variant)
  local dtype, kv_dtype = operand_type(variant.dtype, variant.kv_dtype), variant.kv_dtype
  local mma = tiled_mma(atoms[dtype.name], layout{1, 1, 1}, {ROWS, KEYS, 16})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  return {
    mma = mma, dtype = dtype, Q = swizzled(dtype, ROWS, variant.depth),
    K = swizzled(kv_dtype, KEYS, variant.depth, variant.stages, variant.warps),
    V = swizzled(kv_dtype, KEYS, variant.depth_v, variant.stages, variant.warps),
    read_Q = tiled_copy_A(by_16, mma), read_K = tiled_copy_B(by_16, mma),
    read_V = tiled_copy_B(transposed, mma),
  }
end

-- {====== Loads ======

-- Pieces of `width` elements of `rows` rows, by n threads: f(row, piece).
local function each_piece_of(rows, depth, width, thread, n, f)
  local across = depth // width
  for i in unroll(0, cdiv(rows * across, n)) do
    local at = i * n + thread
    if rows * across % n == 0 then
      f(at // across, at % across)
    elseif at < rows * across then
      f(at // across, at % across)
    end
  end
end

-- A piece's queries; rows that no query has are 0.
local function load_rows(variant, args, sQ, piece)
  local kv_head, first_row = merge.key_head(variant, piece.head)
  local n = wide(variant.dtype)
  each_piece_of(ROWS, variant.depth, n, threadIdx.x, WARP * variant.warps, function(row, j)
    local query, head, is_there = merge.query(variant, kv_head, first_row, row)
    local mine = fragment(variant.dtype, n)
    clear(mine)
    if is_there then copy(tile(args.Q(query, _, head, piece.b), {n}, {j}), mine) end
    if variant.narrow then
      for i = 0, n - 1 do sQ[{row, narrow.place_of(j * n + i)}] = cast(mine[i], f16) end
    else
      copy(mine, tile(sQ(row, _), {n}, {j}))
    end
  end)
end

-- Does a unit's tile lie in one page?
local function is_in_one_page(variant)
  return variant.page_size == nil or variant.page_size % KEYS == 0
end

-- Keys from `first` on, and their values, are on their way to a warp's tiles. Behind the last one,
-- it comes again.
local function fetch(variant, args, piece, kv_head, first, sK, sV)
  local last, one = piece.last - 1 - first, is_in_one_page(variant)
  local base, page
  if one then base, page = pages.place(variant, args, piece.b, first) end
  local n = wide(variant.kv_dtype)
  local function rows_of(t, s, depth)
    each_piece_of(KEYS, depth, n, threadIdx.x % WARP, WARP, function(row, j)
      local r, at = min(row, last), page
      if one then
        r = base + r
      else
        r, at = pages.place(variant, args, piece.b, first + r)
      end
      copy(tile(t(r, _, kv_head, at), {n}, {j}), tile(s(row, _), {n}, {j}))
    end)
  end
  rows_of(args.K, sK, variant.depth)
  rows_of(args.V, sV, variant.depth_v)
end

-- {====== A warp ======

local Warp = {}
Warp.__index = Warp

local function new_warp(variant, plan, args, smem)
  local lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
  local thr = plan.mma:get_slice(lane)
  local sK, sV = smem.K(_, _, _, warp), smem.V(_, _, _, warp)
  local self = { variant = variant, plan = plan, args = args, thr = thr, sK = sK, sV = sV,
    lane = lane,
    Q = thr:partition_fragment_A(smem.Q),
    S = fragment(f32, plan.mma:partition_shape_C{ROWS, KEYS}),
    O = fragment(f32, plan.mma:partition_shape_C{ROWS, variant.depth_v}),
    P = fragment(plan.dtype, plan.mma:partition_shape_C{ROWS, KEYS}),
    place = thr:partition_C(identity_tensor{ROWS, KEYS}),
    place_O = thr:partition_C(identity_tensor{ROWS, variant.depth_v}),
    lane_Q = plan.read_Q:get_slice(lane), lane_K = plan.read_K:get_slice(lane),
    lane_V = plan.read_V:get_slice(lane) }
  self.rows = softmax.new_rows(self.S)
  if not variant.narrow then
    self.K = thr:partition_fragment_B(sK(_, _, 0))
    self.V = thr:partition_fragment_B(select(sV(_, _, 0), 1, 0))
  end
  return setmetatable(self, Warp)
end

-- Operand B of the scores, from a tile in shared memory.
function Warp:keys(slot)
  local s, plan, lane_K = self.sK(_, _, slot), self.plan, self.lane_K
  if self.variant.narrow then return narrow.keys(s, self.lane) end
  copy(plan.read_K, lane_K:partition_S(s), lane_K:retile_D(self.K))
  return self.K
end

-- Operand B of the sums.
function Warp:values(slot)
  local s, plan, lane_V = self.sV(_, _, slot), self.plan, self.lane_V
  if self.variant.narrow then return narrow.values(s, self.lane) end
  copy(plan.read_V, lane_V:partition_S(select(s, 1, 0)), lane_V:retile_D(self.V))
  return self.V
end

-- S of a tile.
function Warp:multiply_QK(slot)
  clear(self.S)
  gemm(self.plan.mma, self.Q, self:keys(slot), self.S)
end

function Warp:multiply_PV(slot)
  local mma = self.plan.mma
  copy(cast(self.S, self.plan.dtype), self.P)
  gemm(mma, mma:retile_A(self.P), self:values(slot), self.O)
end

-- Row r of the thread's, of the tile's.
function Warp:row(r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- Of the keys from `first` on those that a row does not see.
function Warp:mask(piece, first)
  local variant = self.variant
  local _, first_row = merge.key_head(variant, piece.head)
  for r = 0, self.rows.n - 1 do
    local row, place = softmax.row_of(self.S, r), softmax.row_of(self.place, r)
    for j in range(size(row, 1)) do
      for c = 0, 1 do
        local k = first + place[{c, j}][2]
        local seen = k < piece.last
          and pages.sees(variant, self.args, piece, first_row + self:row(r), k)
        row[{c, j}] = where(seen, row[{c, j}], -math.huge)
      end
    end
  end
end

-- The tile of keys from `first` on, which is there.
function Warp:step(piece, first, slot, factor)
  self:multiply_QK(slot)
  local limit = min(piece.last, pages.first_masked(self.variant, piece))
  local grows
  if first + KEYS > limit then
    self:mask(piece, first)
    grows = softmax.softmax(self.S, self.rows, factor, true, false, false)
  else
    grows = softmax.softmax(self.S, self.rows, factor, false, false, false)
  end
  if grows then softmax.scale_rows(self.O, self.rows.shrink) end
  self:multiply_PV(slot)
end

-- The tile of keys from `first` on is on its way, if it is the piece's.
function Warp:bring(piece, first, slot)
  local variant = self.variant
  if first < piece.last then
    fetch(variant, self.args, piece, merge.key_head(variant, piece.head), first,
      self.sK(_, _, slot), self.sV(_, _, slot))
  end
  cp_async_commit()
end

-- The warp's first keys of a piece.
local function first_key(piece) return piece.first + threadIdx.x // WARP * KEYS end

-- The first tiles of a piece are on their way.
function Warp:begin(piece)
  for i = 0, self.variant.stages - 2 do
    self:bring(piece, first_key(piece) + i * KEYS * self.variant.warps, i)
  end
end

-- The warp's keys of a piece, whose rows are in shared memory.
function Warp:compute(piece, sQ, factor)
  local stages, all = self.variant.stages, KEYS * self.variant.warps
  fill(self.rows.tops, -math.huge)
  clear(self.rows.sums)
  clear(self.O)
  copy(self.plan.read_Q, self.lane_Q:partition_S(sQ), self.lane_Q:retile_D(self.Q))
  local slot, next_slot = 0, stages - 1
  for first in range(first_key(piece), piece.last, all) do
    cp_async_wait(stages - 2)
    sync_warp()
    self:bring(piece, first + (stages - 1) * all, next_slot)
    self:step(piece, first, slot, factor)
    slot, next_slot = (slot + 1) % stages, slot
  end
  sync_warp() -- tiles are free
end

-- What the warp found, in shared memory.
function Warp:store(smem)
  local rows, warp = self.rows, threadIdx.x // WARP
  local n_rows = merge.used_rows(self.variant)
  softmax.finish(rows)
  for r = 0, rows.n - 1 do
    local row = self:row(r)
    if row < n_rows then
      local mine, place = softmax.row_of(self.O, r), softmax.row_of(self.place_O, r)
      for j in range(size(mine, 1)) do
        for c = 0, 1 do
          local d = place[{c, j}][2]
          if self.variant.narrow then d = narrow.column(d) end
          smem.O[{ d, row, warp }] = mine[{c, j}]
        end
      end
      if threadIdx.x % 4 == 0 then
        smem.ml[{ 0, row, warp }], smem.ml[{ 1, row, warp }] = rows.tops[r], rows.sums[r]
      end
    end
  end
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name, function(Q, K, V, O, LSE, lengths, capacity, n_parts, parts, ml,
                                       table, k_scale, v_scale, mask, c)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, v_scale = v_scale,
                   mask = mask }
    local smem = merge.new_shared(variant)
    smem.Q = shared(plan.dtype, plan.Q)
    smem.K, smem.V = shared(variant.kv_dtype, plan.K), shared(variant.kv_dtype, plan.V)
    local warp = new_warp(variant, plan, args, smem)
    grid_dependency_wait()
    grid_dependency_launch()
    local function first(piece)
      warp:begin(piece)
      load_rows(variant, args, smem.Q, piece)
      sync_threads()
    end
    local function compute(piece)
      local factor = c
      if variant.scaled then
        factor = c * k_scale[{ merge.key_head(variant, piece.head), piece.b }]
      end
      warp:compute(piece, smem.Q, factor)
    end
    local function finish(piece, next_piece)
      warp:begin(next_piece)
      warp:store(smem)
      sync_threads()
      if next_piece.n_units > 0 then load_rows(variant, args, smem.Q, next_piece) end
      merge.finish_piece(variant, args, smem, piece)
      sync_threads()
    end
    schedule.each_piece(variant, args, { first = first, compute = compute, finish = finish })
  end, { min_blocks = variant.resident })
end

return M
