-- attention_decode_latent_hopper.lua: attention_decode where values are the first 512 columns of
-- keys of 576, on Hopper, for heads enough that the tensor cores limit it. A warp of the first
-- group loads tiles of 64 keys by TMA. Of 64 queries and each tile
--   the group of scores computes   S = Q K' and P, the probabilities, which go to shared memory
--   the two groups of sums compute O += P V, each 256 columns, which fill their registers
-- The next scores are computed while sums take P, so that the tensor cores have work during the
-- softmax. K is in shared memory once: V is its first columns, transposed by the product, and P
-- takes the place of the others.
-- Columns of Q are in registers, as many as fit, for which the tensor cores read shared memory
-- less. Blocks of a cluster have other queries of the same keys; each loads rows of a tile for all.
-- Fields of its configurations: stages, tiles in the ring; held, panels of 64 columns of Q in
-- registers; cluster, blocks of one; registers {of the group that loads, of that of scores, of
-- those of sums}.
local latent = require "cuttle.attention_decode_latent"
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local schedule = require "cuttle.attention_decode_schedule"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local tma = require "cuttle.tma_rules"
local M = {}

local WARP <const>, GROUP <const>, GROUPS <const> = 32, 128, 4
local LOADS <const>, SCORES <const>, SUMS <const> = 0, 1, 2 -- of each role the first group
local N_SUMS <const> = 2 -- groups of sums
local ROWS <const>, KEYS <const> = 64, 64
local DEPTH_V <const>, PANEL <const> = 512, 64 -- columns of keys that are values, and the others
local PANELS <const> = DEPTH_V // PANEL
-- A slot is full chunk by chunk, {first panel, the one after its last}: products begin before all
-- of them are there. What is behind the values is a chunk of its own.
local CHUNKS <const> = { { 0, 4 }, { 4, 8 }, { 8, 9 } }
-- Columns of a product: ptxas refuses 256, whose registers are more than a thread begins with.
local COLUMNS <const>, PRODUCTS <const> = 128, DEPTH_V // 128 // N_SUMS
local WIDTH <const> = 8 -- elements of a copy of 16 bytes
local OVERHEAD <const> = 256 -- of a piece, in keys
local LEAST <const> = 2 -- steps of a part, at least
local LINE <const> = 128 -- bytes of a line of shared memory
local names <const> = { f16 = "F16F16", bf16 = "BF16BF16" }
local modes <const> = { "S", "D", "H", "B" }

local function n_tiles(p) return cdiv(p.n_q * p.group, ROWS) end

--- See attention_decode.lua.
function M.trouble(config, p)
  local why = latent.trouble(config, p) or tma.trouble(p.K, "K", modes, 2, 0)
  if why then return why end
  if p.page_size and p.page_size % KEYS ~= 0 then
    return ("its kernel takes pages of multiples of %d keys"):format(KEYS)
  elseif n_tiles(p) % config.cluster ~= 0 then
    return ("each %d of its blocks share keys, for a tile of %d queries each, but %d queries are "
      .. "%d tiles"):format(config.cluster, ROWS, p.n_q * p.group, n_tiles(p))
  end
end

--- See attention_decode.lua.
function M.shape(config)
  return { keys = KEYS, step = KEYS, rows = ROWS, warps = GROUPS * GROUP // WARP, found = 1,
           stages = config.stages, held = config.held, cluster = config.cluster,
           registers = config.registers, resident = 1, overhead = OVERHEAD // KEYS,
           least = LEAST, uncut = true }
end

--- See attention_decode.lua.
function M.shared_bytes(config)
  local panels = PANELS + 1 - config.held
  return 2 * (ROWS * PANEL * panels + KEYS * config.stages * (DEPTH_V + PANEL))
    + 4 * ROWS * (config.stages + 1) + 256
end

--- K as the kernel takes it.
function M.keys(p) return tma.mapped(p.K, 2) end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, kind = variant.dtype, "F32" .. names[variant.dtype.name]
  local k_major = gmma_layout(dtype, "K", LINE)
  local function scores(operands)
    return tiled_mma(("SM90_64x%dx16_%s_%s"):format(KEYS, kind, operands))
  end
  local QK = scores "SS"
  return {
    QK = QK, QK_held = scores "RS",
    PV = tiled_mma(("SM90_64x%dx16_%s_SS"):format(COLUMNS, kind)),
    Q = tile_to_shape(k_major, {ROWS, PANEL, PANELS + 1 - variant.held}),
    K = tile_to_shape(k_major, {KEYS, DEPTH_V, variant.stages}),
    K_rest = tile_to_shape(k_major, {KEYS, PANEL, variant.stages}),
    store_P = tiled_copy_C(atom("SM90_U16x8_STSM_T", dtype), QK),
  }
end

local function of_first_lane(x) return shfl_idx(x, 0) end

local function none() end

-- The barrier that says that a chunk of a slot is there.
local function full_of(bars, slot, chunk) return bars.full[slot * #CHUNKS + chunk - 1] end

-- {====== The warp that loads ======

local function load_all(variant, args, smem, bars)
  local state = pipeline_state(variant.stages, {parity = 1})
  local high, coords = variant.cluster, tma_tensor(args.K)
  local rows = KEYS // high -- that a block of the cluster loads
  local rank = high > 1 and cluster_rank() or 0
  local options = high > 1 and { multicast = (1 << high) - 1 } or nil

  local function load(piece, first)
    local kv_head, slot = merge.key_head(variant, piece.head), state.slot
    local n = pages.row_in_page(variant, first) // rows + rank
    local page = pages.page(variant, args, piece.b, first)
    for i, chunk in ipairs(CHUNKS) do
      local full, wide = full_of(bars, slot, i), chunk[2] - chunk[1]
      local to, at = smem.K(_, _, slot), chunk[1] // wide
      if i == #CHUNKS then to, at = smem.K_rest(_, _, slot), 0 end
      local box = {rows, wide * PANEL}
      full:arrive_expect_tx(KEYS * wide * PANEL * variant.dtype.bits // 8)
      tma_load(tile(coords, box, {_, _})(_, _, n, chunk[1] // wide, kv_head, page),
        tile(to, box, {rank, at}), full, options)
    end
  end

  schedule.each_piece(variant, args, { first = none, finish = none, compute = function(piece)
    for first in range(piece.first, piece.last, KEYS) do
      bars.empty[state.slot]:wait(state.parity)
      if threadIdx.x == 0 then load(piece, first) end
      state:advance()
    end
  end })
end

-- {====== The group of scores ======

local Scores = {}
Scores.__index = Scores

local function new_scores(variant, plan, args, smem, bars)
  local thread = threadIdx.x % GROUP
  local qk, copier = plan.QK:get_slice(thread), plan.store_P:get_slice(thread)
  local shape = plan.QK:partition_shape_C{ROWS, KEYS}
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    thread = thread, K = {}, Q = {}, S = fragment(f32, shape), copier = copier,
    K_rest = qk:partition_B(smem.K_rest), P = fragment(variant.dtype, shape),
    to_P = copier:partition_D(select(smem.K_rest, 1, 0, 2)),
    place = qk:partition_C(identity_tensor{ROWS, KEYS}),
    place_Q = plan.QK_held:get_slice(thread):partition_A(identity_tensor{ROWS, PANEL}),
    k = pipeline_state(variant.stages), begun = pipeline_state(1, {parity = 1}),
    ended = pipeline_state(1, {parity = 1}), all = named_barrier(1, GROUP) }
  for i = 0, PANELS - 1 do
    self.K[i] = qk:partition_B(tile(smem.K, {KEYS, PANEL, variant.stages}, {0, i, 0}))
  end
  for i = 0, PANELS do
    self.Q[i] = i < variant.held
      and fragment(variant.dtype, plan.QK_held:partition_shape_A{ROWS, PANEL})
      or qk:partition_A(smem.Q(_, _, i - variant.held))
  end
  self.some_S, self.rows = self.S, softmax.new_rows(self.S)
  return setmetatable(self, Scores)
end

function Scores:row(r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- Queries of the thread's two rows, in registers; rows that no query has are 0.
function Scores:hold_Q(piece, kv_head, first_row)
  local at = self.place_Q
  for r = 0, 1 do
    local query, head, is_there = merge.query(self.variant, kv_head, first_row,
      at[{{0, r, 0}, 0, 0}][1])
    for i = 0, self.variant.held - 1 do
      for k = 0, size(at, 2) - 1 do
        for c = 0, 1 do
          local mine = self.Q[i]({_, r, c}, 0, k)
          clear(mine)
          if is_there then
            local column = i * PANEL + at[{{0, r, c}, 0, k}][2]
            copy(tile(self.args.Q(query, _, head, piece.b), {2}, {column // 2}), mine)
          end
        end
      end
    end
  end
end

-- A piece's queries.
function Scores:load_Q(piece)
  local variant, args = self.variant, self.args
  local kv_head, first_row = merge.key_head(variant, piece.head)
  self:hold_Q(piece, kv_head, first_row)
  local across = PANEL // WIDTH
  for i in range(self.thread, ROWS * across * (PANELS + 1 - variant.held), GROUP) do
    local row, j, panel = i // across % ROWS, i % across, i // across // ROWS
    local query, head, is_there = merge.query(variant, kv_head, first_row, row)
    local mine = fragment(variant.dtype, WIDTH)
    clear(mine)
    if is_there then
      copy(tile(args.Q(query, _, head, piece.b), {WIDTH}, {(variant.held + panel) * across + j}),
        mine)
    end
    copy(mine, tile(self.smem.Q(row, _, panel), {WIDTH}, {j}))
  end
  fence_proxy_async()
  self.all:sync()
end

-- The products of the next tile, in S.
function Scores:multiply()
  local plan, slot, held = self.plan, self.k.slot, self.variant.held
  for chunk, panels in ipairs(CHUNKS) do
    full_of(self.bars, slot, chunk):wait(self.k.parity)
    wgmma_fence() -- of each chunk: else ptxas adds one, and one product waits for another
    for i = panels[1], panels[2] - 1 do
      local K = i < PANELS and self.K[i] or self.K_rest
      gemm(i < held and plan.QK_held or plan.QK, self.Q[i], K(_, _, _, slot), self.S,
        {accumulate = i > 0})
    end
  end
  wgmma_commit()
  wgmma_wait(0)
end

-- Values of a tile from key n_own on become zeros: they are not the sequence's, and may be NaN.
function Scores:clear_behind(slot, n_own)
  local K, chunks, zeros = self.smem.K(_, _, slot), DEPTH_V // WIDTH,
    fragment(self.variant.dtype, {1, WIDTH})
  clear(zeros)
  for i in range(self.thread, (KEYS - n_own) * chunks, GROUP) do
    copy(zeros, tile(K, {1, WIDTH}, {n_own + i // chunks, i % chunks}))
  end
end

-- P of a tile, in the place of its last columns, and by what the sums before it shrink, for the
-- groups of sums.
function Scores:hand_on(piece, first, factor)
  local bars, rows, slot = self.bars, self.rows, self.k.slot
  fill(rows.shrink, 1.0)
  tiles.probabilities(self, piece, first, KEYS, factor)
  copy(cast(self.S, self.variant.dtype), self.P)
  if first + KEYS > piece.n_keys then self:clear_behind(slot, piece.n_keys - first) end
  copy(self.plan.store_P, self.copier:retile_S(self.P), self.to_P(_, _, _, slot))
  if self.thread % 4 == 0 then
    for r = 0, rows.n - 1 do self.smem.shrink[{self:row(r), slot}] = rows.shrink[r] end
  end
  fence_proxy_async()
  sync_warp()
  if self.thread % WARP == 0 then bars.P_full[slot]:arrive() end
  self.k:advance()
end

-- How many steps the next piece has; -1: there is none.
function Scores:tell_steps(n)
  local bars, state = self.bars, self.begun
  if self.thread == 0 then
    bars.begun_empty[0]:wait(state.parity)
    self.smem.steps[0] = n
    bars.begun_full[0]:arrive()
  end
  state:advance()
end

function Scores:compute(piece, factor)
  fill(self.rows.tops, -math.huge)
  clear(self.rows.sums)
  self:tell_steps(cdiv(piece.last - piece.first, KEYS))
  for first in range(piece.first, piece.last, KEYS) do
    self:multiply()
    self:hand_on(piece, first, factor)
  end
end

-- The logarithm, or {maximum, sum}, of row `row`.
function Scores:store(piece, row, top, sum)
  local variant, args = self.variant, self.args
  if not piece.is_whole then
    if row < merge.used_rows(variant) then
      args.ml[{ 0, row, piece.slot }], args.ml[{ 1, row, piece.slot }] = top, sum
    end
  elseif variant.lse then
    local kv_head, first_row = merge.key_head(variant, piece.head)
    merge.store_lse(variant, args,
      { b = piece.b, kv_head = kv_head, first_row = first_row, row = row }, top, sum)
  end
end

-- Where a piece's sums go, and what they are divided by, for the groups of sums.
function Scores:finish(piece)
  local rows, to, bars = self.rows, self.smem.piece, self.bars
  softmax.finish(rows)
  bars.ended_empty[0]:wait(self.ended.parity)
  self.ended:advance()
  if self.thread == 0 then
    to[0], to[1], to[2] = piece.b, piece.head, piece.slot
    to[3] = where(piece.is_whole, 1, 0)
  end
  if self.thread % 4 == 0 then
    for r = 0, rows.n - 1 do
      self.smem.sums[self:row(r)] = rows.sums[r]
      self:store(piece, self:row(r), rows.tops[r], rows.sums[r])
    end
  end
  sync_warp()
  if self.thread % WARP == 0 then bars.ended_full[0]:arrive() end
end

local function score_all(variant, plan, args, smem, bars, k_scale, c)
  local group = new_scores(variant, plan, args, smem, bars)
  local function compute(piece)
    local factor = c
    if variant.scaled then
      factor = c * k_scale[{ merge.key_head(variant, piece.head), piece.b }]
    end
    group:compute(piece, factor)
  end
  local function finish(piece, next_piece)
    group:finish(piece)
    if next_piece.n_units > 0 then group:load_Q(next_piece) end
  end
  schedule.each_piece(variant, args, {
    first = function(piece) group:load_Q(piece) end, compute = compute, finish = finish })
  group:tell_steps(-1)
end

-- {====== A group of sums ======
-- It learns from the group of scores what there is to do, which takes fewer registers.

local Sums = {}
Sums.__index = Sums

local function new_sums(variant, plan, args, smem, bars)
  local number, thread = of_first_lane(threadIdx.x // GROUP) - SUMS, threadIdx.x % GROUP
  local pv = plan.PV:get_slice(thread)
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    number = number, thread = thread, V = {}, O = {},
    P = pv:partition_A(select(smem.K_rest, 1, 0, 2)),
    place = pv:partition_C(identity_tensor{ROWS, COLUMNS}),
    k = pipeline_state(variant.stages), begun = pipeline_state(1), ended = pipeline_state(1) }
  local sV = select(smem.K, 1, 0, 2)
  for i = 0, PRODUCTS - 1 do
    self.V[i] = pv:partition_B(tile(sV, {COLUMNS, KEYS, variant.stages},
      {number * PRODUCTS + i, 0, 0}))
    self.O[i] = fragment(f32, plan.PV:partition_shape_C{ROWS, COLUMNS})
  end
  return setmetatable(self, Sums)
end

function Sums:row(r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- The sums become as large as a tile's P needs them.
function Sums:shrink(slot)
  local by = fragment(f32, 2)
  for r = 0, 1 do by[r] = self.smem.shrink[{self:row(r), slot}] end
  if vote_any(by[0] ~= 1.0 or by[1] ~= 1.0) then
    for i = 0, PRODUCTS - 1 do softmax.scale_rows(self.O[i], by) end
  end
end

-- A slot that the warp has read is empty, in all blocks that fill it.
function Sums:release(slot)
  local empty, high, lane = self.bars.empty[slot], self.variant.cluster, self.thread % WARP
  sync_warp()
  if high == 1 then
    if lane == 0 then empty:arrive() end
  elseif lane < high then
    empty:arrive(lane)
  end
end

function Sums:compute(n_steps)
  local bars, state = self.bars, self.k
  for i = 0, PRODUCTS - 1 do clear(self.O[i]) end
  while n_steps > 0 do
    n_steps = n_steps - 1
    local slot = state.slot
    bars.P_full[slot]:wait(state.parity)
    self:shrink(slot)
    wgmma_fence()
    for i = 0, PRODUCTS - 1 do
      gemm(self.plan.PV, self.P(_, _, _, slot), self.V[i](_, _, _, slot), self.O[i])
    end
    wgmma_commit()
    wgmma_wait(0)
    self:release(slot)
    state:advance()
  end
end

-- f(column, sum) of the thread's row r.
function Sums:each(r, f)
  local places = softmax.row_of(self.place, r)
  for i = 0, PRODUCTS - 1 do
    local mine, first = softmax.row_of(self.O[i], r), (self.number * PRODUCTS + i) * COLUMNS
    for j in range(size(mine, 1)) do
      for c = 0, 1 do f(first + places[{c, j}][2], mine[{c, j}]) end
    end
  end
end

-- The thread's part of the results, or of partial ones.
function Sums:store()
  local variant, args, smem, bars = self.variant, self.args, self.smem, self.bars
  bars.ended_full[0]:wait(self.ended.parity)
  self.ended:advance()
  local b, head, slot, is_whole = smem.piece[0], smem.piece[1], smem.piece[2], smem.piece[3]
  local kv_head, first_row = merge.key_head(variant, head)
  for r = 0, 1 do
    local row = self:row(r)
    if is_whole ~= 0 then
      local place = { b = b, kv_head = kv_head, first_row = first_row, row = row }
      merge.store_elements(variant, args, place, smem.sums[row], function(f) self:each(r, f) end)
    elseif row < merge.used_rows(variant) then
      self:each(r, function(d, value) args.parts[{ d, row, slot }] = value end)
    end
  end
  sync_warp()
  if self.thread % WARP == 0 then bars.ended_empty[0]:arrive() end
end

-- Steps of the next piece, as Scores:tell_steps has them.
function Sums:next_steps()
  local bars = self.bars
  bars.begun_full[0]:wait(self.begun.parity)
  self.begun:advance()
  local n = self.smem.steps[0]
  sync_warp()
  if self.thread % WARP == 0 then bars.begun_empty[0]:arrive() end
  return n
end

local function sum_all(variant, plan, args, smem, bars)
  local group = new_sums(variant, plan, args, smem, bars)
  local n_steps = group:next_steps()
  while n_steps >= 0 do
    group:compute(n_steps)
    group:store()
    n_steps = group:next_steps()
  end
end

-- {====== The kernel ======

local function barriers(variant)
  local warps = GROUP // WARP
  return { full = mbarrier(variant.stages * #CHUNKS, 1), P_full = mbarrier(variant.stages, warps),
           empty = mbarrier(variant.stages, N_SUMS * warps * variant.cluster),
           begun_full = mbarrier(1, 1), begun_empty = mbarrier(1, N_SUMS * warps),
           ended_full = mbarrier(1, warps), ended_empty = mbarrier(1, N_SUMS * warps) }
end

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name .. "_latent_hopper", function(Q, K, V, O, LSE, lengths, capacity,
                                                           n_parts, parts, ml, table,
                                                           k_scale, v_scale, mask, c)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, v_scale = v_scale,
                   mask = mask }
    local smem = { K = shared(variant.dtype, plan.K), K_rest = shared(variant.dtype, plan.K_rest),
                   Q = shared(variant.dtype, plan.Q), shrink = shared(f32, {ROWS, variant.stages}),
                   sums = shared(f32, {ROWS}), steps = shared(i32, 1), piece = shared(i32, 4) }
    local bars = barriers(variant)
    if variant.cluster == 1 then sync_threads() else sync_cluster() end
    grid_dependency_wait()
    grid_dependency_launch()
    local group = of_first_lane(threadIdx.x // GROUP)
    if group == LOADS then
      setmaxnreg(variant.registers[1])
      if threadIdx.x < WARP then load_all(variant, args, smem, bars) end
    elseif group == SCORES then
      setmaxnreg(variant.registers[2])
      score_all(variant, plan, args, smem, bars, k_scale, c)
    else
      setmaxnreg(variant.registers[3])
      sum_all(variant, plan, args, smem, bars)
    end
    if variant.cluster > 1 then sync_cluster() end -- others may still arrive here
  end, { min_blocks = 1 })
end

return M
