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
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local M = {}

local WARP <const>, ROWS <const>, KEYS <const> = 32, 16, 16 -- KEYS: of a warp's step
local PERIOD <const> = 1024 -- elements after which every swizzle begins anew
local STEP <const>, MOST_DEPTH <const> = 32, 256
local WIDTH <const> = 32 -- columns of operands in registers at a time, where not all fit
local MOST_WHOLE <const> = { [true] = 128, [false] = 160 } -- by `narrow`, up to which all fit
local OVERHEAD <const> = 2 -- of a piece, in units of each warp: measured on an H200

local function is_narrow(dtype) return dtype == i8 or dtype == f8e4m3 end

-- What products are of.
local function operand_type(dtype, kv_dtype) return is_narrow(kv_dtype) and f16 or dtype end

--- See attention_decode.lua.
function M.trouble(config, p)
  local why = tiles.trouble(p)
  if why then return why end
  if is_narrow(p.kv_dtype) ~= (config.narrow or false)
    or not config.narrow and p.kv_dtype ~= p.dtype then
    return ("its kernel computes K and V of %s"):format(config.narrow and "f8e4m3 and i8"
      or p.dtype)
  end
  if p.K_rope or p.k_groups or p.v_groups then
    return "its kernel takes keys of one type, and scales of heads"
  end
  for _, depth in ipairs { p.depth, p.depth_v } do
    if depth > MOST_DEPTH or depth % STEP ~= 0 then
      return ("its kernel computes multiples of %d up to %d for D"):format(STEP, MOST_DEPTH)
    end
  end
end

-- Elements of a tile in a slot, and of a slot: a tile of keys, then one of values. A slot also has
-- room for what the warp finds of a piece (merge.new_shared), where is_in_ring.
local function tile_of(depth) return cdiv(KEYS * depth, PERIOD) * PERIOD end

local function slot_of(depth, depth_v) return tile_of(depth) + tile_of(depth_v) end

local function slot_bytes(p) return slot_of(p.depth, p.depth_v) * p.kv_dtype.bits // 8 end

local function used_rows(p) return math.min(ROWS, p.n_q * p.group) end

-- Columns of operands that are in registers at a time; nil: all.
local function width_of(config, p)
  local most = MOST_WHOLE[config.narrow or false]
  return math.max(p.depth, p.depth_v) > most and WIDTH or nil
end

-- Is what a warp finds of a piece to be in a slot? There must be room, and tiles so large that
-- another place would cost stages.
local function is_in_ring(config, p)
  return width_of(config, p) ~= nil and 4 * used_rows(p) * p.depth_v <= slot_bytes(p)
end

--- See attention_decode.lua.
function M.shape(config, p)
  return { width = width_of(config, p), in_ring = is_in_ring(config, p),
           keys = KEYS, step = KEYS * config.warps, rows = ROWS, warps = config.warps,
           found = config.warps, stages = config.stages, resident = config.resident,
           narrow = config.narrow or false, is_ahead = true, overhead = OVERHEAD * config.warps }
end

--- Of a block: tiles of keys and values, queries, and what the warps found.
function M.shared_bytes(config, p)
  local bytes = config.stages * (slot_bytes(p) + (p.by_token and KEYS * 2 * 4 or 0))
  local rows = used_rows(p)
  local found = 4 * rows * ((is_in_ring(config, p) and 0 or p.depth_v) + 2)
  return config.warps * (bytes + found) + ROWS * p.depth * p.dtype.bits // 8 + 256
end

-- {====== What is known before the trace ======

local function ring_of(variant, depth)
  local kv_dtype, stages, warps = variant.kv_dtype, variant.stages, variant.warps
  if not variant.in_ring then return tiles.swizzled(kv_dtype, KEYS, depth, stages, warps) end
  return tiles.ring(kv_dtype, KEYS, depth, slot_of(variant.depth, variant.depth_v), stages, warps)
end

local function plan_of(variant)
  local dtype = operand_type(variant.dtype, variant.kv_dtype)
  local mma = tiled_mma(tiles.atoms[dtype.name], layout{1, 1, 1}, {ROWS, KEYS, 16})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  return {
    mma = mma, dtype = dtype, Q = tiles.swizzled(dtype, ROWS, variant.depth),
    K = ring_of(variant, variant.depth), V = ring_of(variant, variant.depth_v),
    read_Q = tiled_copy_A(by_16, mma), read_K = tiled_copy_B(by_16, mma),
    read_V = tiled_copy_B(transposed, mma),
  }
end

-- {====== Loads ======

-- Does a unit's tile lie in one page?
local function is_in_one_page(variant)
  return variant.page_size == nil or variant.page_size % KEYS == 0
end

-- Keys from `first` on, and their values, are on their way to a warp's tiles. Behind the last one,
-- it comes again. `page`: of all, where they are in one.
local function fetch(variant, args, piece, first, page, slot)
  local last, n = piece.last - 1 - first, tiles.wide(variant.kv_dtype)
  local kv_head, base = merge.key_head(variant, piece.head), pages.row_in_page(variant, first)
  local function rows_of(t, s, depth)
    tiles.each_part(KEYS, depth, n, threadIdx.x % WARP, WARP, function(row, j)
      local r = min(row, last)
      local from
      if is_in_one_page(variant) then
        from = t(base + r, _, kv_head, page)
      else
        from = pages.row(variant, args, t, piece.b, kv_head, first + r)
      end
      copy(tile(from, {n}, {j}), tile(s(row, _), {n}, {j}))
    end)
  end
  rows_of(args.K, slot.K, variant.depth)
  rows_of(args.V, slot.V, variant.depth_v)
  if variant.by_token then
    local lane = threadIdx.x % WARP
    local row = lane % KEYS
    local r = min(row, last)
    local function scale_of(t, s)
      local from
      if is_in_one_page(variant) then
        from = tile(t(_, kv_head, page), {1}, {base + r})
      else
        from = tile(t(_, kv_head, pages.page(variant, args, piece.b, first + r)), {1},
          {pages.row_in_page(variant, first + r)})
      end
      copy(from, tile(s, {1}, {row}))
    end
    if lane < KEYS then scale_of(args.k_scale, slot.scales(_, 0))
    else scale_of(args.v_scale, slot.scales(_, 1)) end
  end
end

-- {====== A warp ======

local Warp = {}
Warp.__index = Warp

local function new_warp(variant, plan, args, smem)
  local lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
  local thr = plan.mma:get_slice(lane)
  local sK, sV = smem.K(_, _, _, warp), smem.V(_, _, _, warp)
  local self = { variant = variant, plan = plan, args = args, thr = thr, sK = sK, sV = sV,
    lane = lane, smem = smem, pages = i32(0), later = i32(0),
    next_piece_pages = i32(0), slot = i32(0), is_brought = false,
    Q = not variant.width and thr:partition_fragment_A(smem.Q),
    S = fragment(f32, plan.mma:partition_shape_C{ROWS, KEYS}),
    O = fragment(f32, plan.mma:partition_shape_C{ROWS, variant.depth_v}),
    P = fragment(plan.dtype, plan.mma:partition_shape_C{ROWS, KEYS}),
    place = thr:partition_C(identity_tensor{ROWS, KEYS}),
    place_O = thr:partition_C(identity_tensor{ROWS, variant.depth_v}),
    lane_Q = plan.read_Q:get_slice(lane), lane_K = plan.read_K:get_slice(lane),
    lane_V = plan.read_V:get_slice(lane) }
  self.scales = smem.scales and smem.scales(_, _, _, warp)
  self.some_S, self.some_O = tiles.used(variant, self.S), tiles.used(variant, self.O)
  self.rows = softmax.new_rows(self.some_S)
  return setmetatable(self, Warp)
end

-- Operand A of the scores, from columns of the queries in shared memory: Q, or a new one.
function Warp:queries(s, Q)
  Q = Q or self.thr:partition_fragment_A(s)
  copy(self.plan.read_Q, self.lane_Q:partition_S(s), self.lane_Q:retile_D(Q))
  return Q
end

-- Operand B of the scores, from columns of a tile in shared memory.
function Warp:keys(s)
  if self.variant.narrow then return narrow.keys(s, self.lane) end
  local K = self.thr:partition_fragment_B(s)
  copy(self.plan.read_K, self.lane_K:partition_S(s), self.lane_K:retile_D(K))
  return K
end

-- Operand B of the sums.
function Warp:values(s)
  if self.variant.narrow then return narrow.values(s, self.lane) end
  local V = self.thr:partition_fragment_B(select(s, 1, 0))
  copy(self.plan.read_V, self.lane_V:partition_S(select(s, 1, 0)), self.lane_V:retile_D(V))
  return V
end

-- Columns number i of so many.
local function columns(s, width, i) return tile(s, {size(s, 0), width}, {0, i}) end

-- Calls f(operands, i) for n parts of a depth; load(i) brings the operands of the next part while
-- those of a part are multiplied.
local function each_part(n, load, f)
  local next_one = load(0)
  for i = 0, n - 1 do
    local operands = next_one
    if i < n - 1 then next_one = load(i + 1) end
    f(operands, i)
  end
end

-- Of the slot's tile, scores are multiplied by the scales of keys, which = 0, or of values, 1.
function Warp:scale_by_token(slot, which)
  if not self.scales then return end
  for r = 0, self.rows.n - 1 do
    local row, place = softmax.row_of(self.some_S, r), softmax.row_of(self.place, r)
    for j in range(size(row, 1)) do
      for c = 0, 1 do
        row[{c, j}] = row[{c, j}] * self.scales[{ place[{c, j}][2], which, slot }]
      end
    end
  end
end

-- S of a tile.
function Warp:multiply_QK(slot)
  local width, s = self.variant.width or self.variant.depth, self.sK(_, _, slot)
  clear(self.S)
  each_part(self.variant.depth // width, function(i)
    return { Q = self.Q or self:queries(columns(self.smem.Q, width, i)),
             K = self:keys(columns(s, width, i)) }
  end, function(of) gemm(self.plan.mma, of.Q, of.K, self.S) end)
  self:scale_by_token(slot, 0)
end

function Warp:multiply_PV(slot)
  local mma, s = self.plan.mma, self.sV(_, _, slot)
  local width = self.variant.width or self.variant.depth_v
  self:scale_by_token(slot, 1)
  copy(cast(self.S, self.plan.dtype), self.P)
  local P = mma:retile_A(self.P)
  each_part(self.variant.depth_v // width, function(i) return self:values(columns(s, width, i)) end,
    function(V, i)
      gemm(mma, P, V, tile(self.O, {size(self.O, 0), 1, width // 8}, {0, 0, i}))
    end)
end

-- The tile of keys from `first` on is on its way, if it is the piece's.
function Warp:bring(piece, first, slot, page)
  if first < piece.last then
    fetch(self.variant, self.args, piece, first, page, {
      K = self.sK(_, _, slot), V = self.sV(_, _, slot),
      scales = self.scales and self.scales(_, _, slot) })
  end
  cp_async_commit()
end

-- The one that no tile is in, or on its way to, between pieces.
function Warp:free_slot() return (self.slot + self.variant.stages - 1) % self.variant.stages end

-- The warp's first keys of a piece, and those of its tile i.
local function first_key(piece) return piece.first + threadIdx.x // WARP * KEYS end

local function key_of(self, piece, i) return first_key(piece) + i * KEYS * self.variant.warps end

-- Of the warp's tiles from number `i` on, a lane's page: that of tile i + lane, if there is one.
function Warp:pages_from(piece, i)
  local page, first = i32(0), key_of(self, piece, i + threadIdx.x % WARP)
  if self.variant.page_size and is_in_one_page(self.variant) and first < piece.last then
    page = pages.page(self.variant, self.args, piece.b, first)
  end
  return page
end

-- The page of tile i, where lanes have those of WARP tiles.
local function page_of(self, piece, known, i)
  if not is_in_one_page(self.variant) then return i32(0) end
  if self.variant.page_size == nil then return piece.b end
  return shfl_idx(known, i % WARP)
end

-- Where tile i is the last one whose page is known, the pages of the next ones are, too.
function Warp:next_pages(piece, i)
  if self.variant.page_size and i % WARP == WARP - 1 then
    self.pages = self.later
    self.later = self:pages_from(piece, i + 1 + WARP)
  end
end

-- The first tiles of a piece are on their way, if they are not yet.
function Warp:begin(piece)
  local stages = self.variant.stages
  if self.is_brought then
    self.pages = self.next_piece_pages
  else
    self.pages = self:pages_from(piece, 0)
    for i = 0, stages - 2 do
      self:bring(piece, key_of(self, piece, i), (self.slot + i) % stages,
        page_of(self, piece, self.pages, i))
    end
  end
  self.later = self:pages_from(piece, WARP)
end

-- Tile i of a piece is on its way, or tile i - n of the next one, where this one has n and that one
-- is to be brought already.
function Warp:bring_ahead(piece, next_piece, i, slot)
  local all, first = KEYS * self.variant.warps, key_of(self, piece, i)
  local is_next = self.is_brought and first >= piece.last
  local j = where(is_next, (first - piece.last) // all, i)
  local of = {}
  for _, name in ipairs { "b", "head", "first", "last" } do
    of[name] = where(is_next, next_piece[name], piece[name])
  end
  local known = where(is_next, self.next_piece_pages, self.pages)
  self:bring(of, key_of(self, of, j), slot, page_of(self, of, known, j))
end

-- The warp's keys of a piece, whose rows are in shared memory. While it computes the last ones, the
-- first tiles of the next piece come, if this one has as many.
function Warp:compute(piece, factor, next_piece)
  local stages, all = self.variant.stages, KEYS * self.variant.warps
  tiles.clear(self)
  if self.Q then self:queries(self.smem.Q, self.Q) end
  self.is_brought = key_of(self, piece, stages - 2) < piece.last
  self.next_piece_pages = self:pages_from(next_piece, 0)
  local next_slot, next_tile = self:free_slot(), i32(stages - 1)
  for first in range(first_key(piece), piece.last, all) do
    cp_async_wait(stages - 2)
    sync_warp()
    self:bring_ahead(piece, next_piece, next_tile, next_slot)
    self:next_pages(piece, next_tile)
    next_tile = next_tile + 1
    self:multiply_QK(self.slot)
    tiles.softmax(self, piece, first, KEYS, factor)
    self:multiply_PV(self.slot)
    self.slot, next_slot = (self.slot + 1) % stages, self.slot
  end
  sync_warp() -- tiles are free
end

-- {====== The kernel ======

local function new_shared(variant, plan)
  local smem
  if variant.in_ring then
    local ring = shared(variant.kv_dtype, slot_of(variant.depth, variant.depth_v) * variant.stages
      * variant.warps)
    smem = merge.new_shared(variant, recast(ring, f32))
    smem.K, smem.V = view(ring, plan.K), view(ring, plan.V, tile_of(variant.depth))
  else
    smem = merge.new_shared(variant)
    smem.K, smem.V = shared(variant.kv_dtype, plan.K), shared(variant.kv_dtype, plan.V)
  end
  smem.Q = shared(plan.dtype, plan.Q)
  if variant.by_token then
    smem.scales = shared(f32, {KEYS, 2, variant.stages, variant.warps})
  end
  return smem
end

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name, function(Q, K, V, O, LSE, lengths, capacity, n_parts, parts, ml,
                                       table, k_scale, v_scale, mask, _, c, ...)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, k_scale = k_scale,
                   v_scale = v_scale, mask = mask, operands = { ... } }
    local smem = new_shared(variant, plan)
    local warp = new_warp(variant, plan, args, smem)
    grid_dependency_wait()
    grid_dependency_launch()
    tiles.each_piece(warp, k_scale, c, function(first, column)
      return variant.narrow and narrow.column(first, column) or first + column
    end)
  end, { min_blocks = variant.resident })
end

return M
