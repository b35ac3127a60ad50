-- attention_decode_latent_hopper.lua: attention_decode where values are the first 512 columns of
-- keys of 576, on Hopper, for heads enough that the tensor cores limit it. Sums of 64 queries and
-- 512 columns fill the registers of two warp groups, 256 columns each. A warp of one more group
-- loads blocks of 64 keys by TMA. Of each block a group computes
--   S = Q K'     the scores of half of the keys
--   P            of these, relative to the maximum of both groups' scores, to shared memory
--   O += P V     its columns, of all keys
-- The groups meet twice: when they know their maxima, and when P is complete. K is in shared memory
-- once: V is its first columns, transposed by the product. The last 64 columns are a tile of their
-- own.
local latent = require "cuttle.attention_decode_latent"
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local schedule = require "cuttle.attention_decode_schedule"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local tma = require "cuttle.tma_rules"
local M = {}

local WARP <const>, GROUP <const>, GROUPS <const> = 32, 128, 2 -- GROUPS: that multiply
local ROWS <const>, KEYS <const>, OWN_KEYS <const> = 64, 64, 32
local DEPTH_V <const>, REST <const> = 512, 64 -- columns of keys: those of values, and the others
local COLUMNS <const> = DEPTH_V // GROUPS
local WIDTH <const> = 8 -- elements of a copy of 16 bytes
local OVERHEAD <const> = 256 -- of a piece, in keys
local names <const> = { f16 = "F16F16", bf16 = "BF16BF16" }
local modes <const> = { "S", "D", "H", "B" }

--- See attention_decode.lua.
function M.trouble(config, p)
  local why = latent.trouble(config, p) or tma.trouble(p.K, "K", modes, 2, 0)
  if why then return why end
  if p.page_size and p.page_size % KEYS ~= 0 then
    return ("its kernel takes pages of multiples of %d keys"):format(KEYS)
  end
end

--- See attention_decode.lua.
function M.shape(config)
  return { keys = KEYS, step = KEYS, rows = ROWS, warps = (GROUPS + 1) * GROUP // WARP, found = 1,
           stages = config.stages, registers = config.registers, resident = 1,
           overhead = OVERHEAD // KEYS }
end

--- See attention_decode.lua.
function M.shared_bytes(config)
  return 2 * ((ROWS + KEYS * config.stages) * (DEPTH_V + REST) + ROWS * KEYS)
    + 4 * 2 * ROWS * GROUPS + 128
end

--- K as the kernel takes it.
function M.keys(p) return tma.mapped(p.K, 2) end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, kind = variant.dtype, "F32" .. names[variant.dtype.name]
  local k_major = gmma_layout(dtype, "K", 128)
  local QK = tiled_mma(("SM90_64x%dx16_%s_SS"):format(OWN_KEYS, kind))
  return {
    QK = QK, PV = tiled_mma(("SM90_64x%dx16_%s_SS"):format(COLUMNS, kind)),
    Q = tile_to_shape(k_major, {ROWS, DEPTH_V}), Q_rest = tile_to_shape(k_major, {ROWS, REST}),
    K = tile_to_shape(k_major, {KEYS, DEPTH_V, variant.stages}),
    K_rest = tile_to_shape(k_major, {KEYS, REST, variant.stages}),
    P = tile_to_shape(k_major, {ROWS, KEYS}), of_rows = layout({ROWS, GROUPS}, {1, ROWS}),
    store_P = tiled_copy_C(atom("SM90_U32x4_STSM_N", dtype), QK),
    bytes = KEYS * (DEPTH_V + REST) * dtype.bits // 8,
  }
end

local function of_first_lane(x) return shfl_idx(x, 0) end

-- {====== The warp that loads ======

-- Rows of a tile of keys from n_own on become zeros: they are not the sequence's, and may be NaN.
local function clear_behind(s, n_own)
  local chunks, zeros = size(s, 1) // WIDTH, fragment(s.dtype, {1, WIDTH})
  clear(zeros)
  for i in range(threadIdx.x, (KEYS - n_own) * chunks, WARP) do
    copy(zeros, tile(s, {1, WIDTH}, {n_own + i // chunks, i % chunks}))
  end
end

local function load_all(variant, plan, args, smem, bars)
  local state, parts = pipeline_state(variant.stages, {parity = 1}), pipeline_state(1)
  local is_first = threadIdx.x == 0
  local coords = tma_tensor(args.K)
  local gK, gK_rest = tile(coords, {KEYS, DEPTH_V}, {_, _}), tile(coords, {KEYS, REST}, {_, _})

  local function load(piece, first, full)
    local kv_head = merge.key_head(variant, piece.head)
    local n = pages.row_in_page(variant, first) // KEYS
    local page = pages.page(variant, args, piece.b, first)
    full:arrive_expect_tx(plan.bytes)
    tma_load(gK(_, _, n, 0, kv_head, page), smem.K(_, _, state.slot), full)
    tma_load(gK_rest(_, _, n, DEPTH_V // REST, kv_head, page), smem.K_rest(_, _, state.slot), full)
  end

  local function compute(piece)
    for first in range(piece.first, piece.last, KEYS) do
      local n_own, slot = piece.n_keys - first, state.slot
      bars.empty[slot]:wait(state.parity)
      if n_own < KEYS then
        if is_first then load(piece, first, bars.part[0]) end
        bars.part[0]:wait(parts.parity)
        parts:advance()
        clear_behind(smem.K(_, _, slot), n_own)
        clear_behind(smem.K_rest(_, _, slot), n_own)
        fence_proxy_async()
        sync_warp()
        if is_first then bars.full[slot]:arrive() end
      elseif is_first then
        load(piece, first, bars.full[slot])
      end
      state:advance()
    end
  end

  local function none() end
  schedule.each_piece(variant, args, { first = none, compute = compute, finish = none })
end

-- {====== A group that multiplies ======

local Group = {}
Group.__index = Group

local function new_group(variant, plan, args, smem, bars)
  local number, thread = of_first_lane(threadIdx.x // GROUP) - 1, threadIdx.x % GROUP
  local qk, pv = plan.QK:get_slice(thread), plan.PV:get_slice(thread)
  local function own_keys(s)
    return qk:partition_B(tile(s, {OWN_KEYS, size(s, 1), variant.stages}, {number, 0, 0}))
  end
  local copier = plan.store_P:get_slice(thread)
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    number = number, thread = thread,
    Q = qk:partition_A(smem.Q), Q_rest = qk:partition_A(smem.Q_rest),
    K = own_keys(smem.K), K_rest = own_keys(smem.K_rest),
    V = pv:partition_B(tile(select(smem.K, 1, 0, 2), {COLUMNS, KEYS, variant.stages},
      {number, 0, 0})),
    P_all = pv:partition_A(smem.P), copier = copier,
    to_P = copier:partition_D(tile(smem.P, {ROWS, OWN_KEYS}, {0, number})),
    S = fragment(f32, plan.QK:partition_shape_C{ROWS, OWN_KEYS}),
    P = fragment(variant.dtype, plan.QK:partition_shape_C{ROWS, OWN_KEYS}),
    O = fragment(f32, plan.PV:partition_shape_C{ROWS, COLUMNS}),
    place = qk:partition_C(identity_tensor{ROWS, OWN_KEYS}),
    place_O = pv:partition_C(identity_tensor{ROWS, COLUMNS}),
    state = pipeline_state(variant.stages), all = named_barrier(1, GROUPS * GROUP) }
  self.some_S, self.some_O = self.S, self.O
  self.rows = softmax.new_rows(self.S)
  self.rows.meet = function(tops) self:exchange(smem.tops, tops, max) end
  return setmetatable(self, Group)
end

function Group:row(r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- What each of the thread's rows is with f of both groups' numbers.
function Group:exchange(s, x, f)
  for r = 0, self.rows.n - 1 do
    if self.thread % 4 == 0 then s[{self:row(r), self.number}] = x[r] end
  end
  self.all:sync()
  for r = 0, self.rows.n - 1 do x[r] = f(x[r], s[{self:row(r), 1 - self.number}]) end
end

-- A piece's queries; rows that no query has are 0.
function Group:load_Q(piece)
  local variant, args, smem = self.variant, self.args, self.smem
  local kv_head, first_row = merge.key_head(variant, piece.head)
  local function columns(s, first)
    local across = size(s, 1) // WIDTH
    for i in range(threadIdx.x - GROUP, ROWS * across, GROUPS * GROUP) do
      local row, j = i // across, i % across
      local query, head, is_there = merge.query(variant, kv_head, first_row, row)
      local mine = fragment(variant.dtype, WIDTH)
      clear(mine)
      if is_there then
        copy(tile(args.Q(query, _, head, piece.b), {WIDTH}, {first // WIDTH + j}), mine)
      end
      copy(mine, tile(s(row, _), {WIDTH}, {j}))
    end
  end
  columns(smem.Q, 0)
  columns(smem.Q_rest, DEPTH_V)
  fence_proxy_async()
  self.all:sync()
end

function Group:step(piece, first, factor)
  local plan, slot = self.plan, self.state.slot
  self.bars.full[slot]:wait(self.state.parity)
  wgmma_fence()
  gemm(plan.QK, self.Q, self.K(_, _, _, slot), self.S, {accumulate = false})
  gemm(plan.QK, self.Q_rest, self.K_rest(_, _, _, slot), self.S)
  wgmma_commit()
  wgmma_wait(0)
  tiles.softmax(self, piece, first + self.number * OWN_KEYS, OWN_KEYS, factor)
  copy(cast(self.S, self.variant.dtype), self.P)
  copy(plan.store_P, self.copier:retile_S(self.P), self.to_P)
  fence_proxy_async()
  self.all:sync()
  wgmma_fence()
  gemm(plan.PV, self.P_all, self.V(_, _, _, slot), self.O)
  wgmma_commit()
  wgmma_wait(0)
  if self.thread == 0 then self.bars.empty[slot]:arrive() end
  self.state:advance()
end

-- The thread's part of the results, or of partial ones.
function Group:store(piece)
  local variant, args, n_rows = self.variant, self.args, merge.used_rows(self.variant)
  local kv_head, first_row = merge.key_head(variant, piece.head)
  local is_one = self.thread % 4 == 0 and self.number == 0
  for r = 0, self.rows.n - 1 do
    local row, top, sum = self:row(r), self.rows.tops[r], self.rows.sums[r]
    local mine, places = softmax.row_of(self.O, r), softmax.row_of(self.place_O, r)
    local place = { b = piece.b, kv_head = kv_head, first_row = first_row, row = row }
    local function each(f)
      for j in range(size(mine, 1)) do
        for c = 0, 1 do f(self.number * COLUMNS + places[{c, j}][2], mine[{c, j}]) end
      end
    end
    if piece.is_whole then
      merge.store_elements(variant, args, place, sum, each)
      if variant.lse and is_one then merge.store_lse(variant, args, place, top, sum) end
    elseif row < n_rows then
      each(function(d, value) args.parts[{ d, row, piece.slot }] = value end)
      if is_one then
        args.ml[{ 0, row, piece.slot }], args.ml[{ 1, row, piece.slot }] = top, sum
      end
    end
  end
end

local function multiply_all(variant, plan, args, smem, bars, k_scale, c)
  local group = new_group(variant, plan, args, smem, bars)
  local function compute(piece)
    local factor = c
    if variant.scaled then
      factor = c * k_scale[{ merge.key_head(variant, piece.head), piece.b }]
    end
    tiles.clear(group)
    for first in range(piece.first, piece.last, KEYS) do group:step(piece, first, factor) end
  end
  local function finish(piece, next_piece)
    softmax.finish(group.rows)
    group:exchange(smem.sums, group.rows.sums, function(a, b) return a + b end)
    group:store(piece)
    if next_piece.n_units > 0 then group:load_Q(next_piece) end
  end
  schedule.each_piece(variant, args, {
    first = function(piece) group:load_Q(piece) end, compute = compute, finish = finish })
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name .. "_latent_hopper", function(Q, K, V, O, LSE, lengths, capacity,
                                                           n_parts, parts, ml, table, k_scale,
                                                           v_scale, mask, c)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, v_scale = v_scale,
                   mask = mask }
    local smem = { Q = shared(variant.dtype, plan.Q), Q_rest = shared(variant.dtype, plan.Q_rest),
                   K = shared(variant.dtype, plan.K), K_rest = shared(variant.dtype, plan.K_rest),
                   P = shared(variant.dtype, plan.P), tops = shared(f32, plan.of_rows),
                   sums = shared(f32, plan.of_rows) }
    local bars = { full = mbarrier(variant.stages, 1), empty = mbarrier(variant.stages, GROUPS),
                   part = mbarrier(1, 1) }
    sync_threads()
    grid_dependency_wait()
    grid_dependency_launch()
    if threadIdx.x < GROUP then
      setmaxnreg(variant.registers[1])
      if threadIdx.x < WARP then load_all(variant, plan, args, smem, bars) end
    else
      setmaxnreg(variant.registers[2])
      multiply_all(variant, plan, args, smem, bars, k_scale, c)
    end
  end, { min_blocks = 1 })
end

return M
