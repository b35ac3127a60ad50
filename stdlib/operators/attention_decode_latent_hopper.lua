-- attention_decode_latent_hopper.lua: attention_decode where values are the first 512 columns of
-- keys of 576, on Hopper, for heads enough that the tensor cores limit it. A block has 64 queries.
-- The first of three warp groups has most of them in registers, so that products read less shared
-- memory. Of each tile of 64 keys it computes S = Q K' and P, the probabilities. The two others
-- have half of the columns of O each, which fill their registers: O += P V. They wait with a tile
-- until the scores of the next one are there. So the tensor cores have scores of a tile, and then,
-- during its softmax, the sums of the tile before it. The first group stores P only after it has
-- issued some products of the next scores, as P waits for those sums.
-- The warps of the second group load tiles by TMA, a chunk each: for one warp, to issue all copies
-- takes more time than a tile takes the tensor cores. K is there once: V is its first
-- columns, transposed by the product. There are three slots for those, and one for the other
-- columns, which nobody needs after the scores.
-- Blocks of a cluster have other queries of the same keys; each loads panels of V for all.
-- Fields of its configurations: cluster, blocks of one; slots; held, panels of the queries that are
-- in registers; registers {of the group that computes scores, of those with sums}; loader, those of
-- a fourth group (attention_decode_latent_load.lua), nil: there is none; narrow: keys of 8 bits;
-- share_before, the panel of the next scores before which P is stored, if not SHARE_BEFORE.
-- With a fourth group there are two slots, and the groups with sums do not wait for scores. Their
-- products are of half of their columns then: ptxas gives 512 threads no registers for more.
local arrive = require "cuttle.warp_arrive"
local latent = require "cuttle.attention_decode_latent"
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local load = require "cuttle.attention_decode_latent_load"
local scores = require "cuttle.attention_decode_scores"
local schedule = require "cuttle.attention_decode_schedule"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local tma = require "cuttle.tma_rules"
local M = {}

local WARP <const>, GROUP <const>, GROUPS <const> = 32, 128, 3
local WARPS <const> = GROUP // WARP -- of a group
local ROWS <const>, KEYS <const> = 64, 64
local DEPTH_V <const>, PANEL <const> = 512, 64 -- columns of keys that are values, and the others
local PANELS <const> = DEPTH_V // PANEL
local SHARE_BEFORE <const> = 4 -- the panel of the next scores before which P goes to the others
local COLUMNS <const> = DEPTH_V // 2
local CHUNKS <const> = WARPS -- of a slot: products begin before all of them are there
local PER_CHUNK <const> = PANELS // CHUNKS
local WIDTH <const> = 8 -- elements of a copy of 16 bytes
local OVERHEAD <const> = 256 -- of a piece, in keys
local LEAST <const> = 2 -- steps of a part, at least
local LINE <const> = 128 -- bytes of a line of shared memory
local names <const> = { f16 = "F16F16", bf16 = "BF16BF16" }
local modes <const> = { "S", "D", "H", "B" }

local function n_tiles(p) return cdiv(p.n_q * p.group, ROWS) end

--- See attention_decode.lua.
function M.trouble(config, p)
  local has_tma = config.narrow or not config.loader
  local why = latent.trouble(config, p) or config.narrow and load.of(config).trouble(p, modes)
    or has_tma and tma.trouble(p.K, "K", modes, 2, 0)
  if why then return why end
  if has_tma and p.page_size and p.page_size % KEYS ~= 0 then
    return ("its kernel takes pages of multiples of %d keys"):format(KEYS)
  elseif n_tiles(p) % config.cluster ~= 0 then
    return ("each %d of its blocks share keys, for a tile of %d queries each, but %d queries are "
      .. "%d tiles"):format(config.cluster, ROWS, p.n_q * p.group, n_tiles(p))
  end
end

--- See attention_decode.lua.
function M.shape(config)
  local groups = config.loader and GROUPS + 1 or GROUPS
  return { keys = KEYS, step = KEYS, rows = ROWS, warps = groups * WARPS, found = 1,
           cluster = config.cluster, registers = config.registers, slots = config.slots,
           held = config.held, loader = config.loader, narrow = config.narrow, resident = 1,
           has_tma = config.narrow or not config.loader,
           share_before = config.share_before or SHARE_BEFORE,
           overhead = OVERHEAD // KEYS, least = LEAST, uncut = true }
end

--- See attention_decode.lua.
function M.shared_bytes(config)
  local slots, shared_Q = config.slots, PANELS + 1 - config.held
  return 2 * (KEYS * (slots * DEPTH_V + PANEL + ROWS) + ROWS * shared_Q * PANEL)
    + 4 * ROWS * (slots + 2) + 256 + (config.narrow and load.of(config).bytes or 0)
end

--- A tensor of keys as the kernel takes it.
function M.mapped(t) return tma.mapped(t, 2) end

-- {====== What is known before the trace ======

-- Keys of 8 bits are operands of f16; the last columns may be of the queries' type.
local function plan_of(variant)
  local dtype = variant.narrow and f16 or variant.dtype
  local rest = variant.rope and variant.dtype or dtype
  local k_major = gmma_layout(dtype, "K", LINE)
  local function product(columns, operands, type)
    return tiled_mma(("SM90_64x%dx16_F32%s_%s"):format(columns, names[(type or dtype).name],
      operands))
  end
  local QK = product(KEYS, "RS")
  return {
    dtype = dtype, rest = rest, QK_last = product(KEYS, "SS", rest),
    QK = QK, QK_rest = product(KEYS, "SS"),
    PV = product(variant.loader and COLUMNS // 2 or COLUMNS, "SS"), -- registers of 512 threads
    Q = tile_to_shape(k_major, {ROWS, (PANELS + 1 - variant.held) * PANEL}),
    V = tile_to_shape(k_major, {KEYS, DEPTH_V, variant.slots}),
    K_rest = tile_to_shape(k_major, {KEYS, PANEL}), P = tile_to_shape(k_major, {KEYS, ROWS}),
    store_P = tiled_copy_C(atom("SM90_U16x8_STSM_T", dtype), QK),
  }
end

local function of_first_lane(x) return shfl_idx(x, 0) end

-- Calls f(left, slot) for the tiles of a piece; so many of its keys are left. Each piece begins in
-- the first of n slots.
local function each_tile(piece, n, f)
  local left = piece.last - piece.first
  while left > 0 do
    f(left, 0)
    for slot = 1, n - 1 do
      if left > slot * KEYS then f(left - slot * KEYS, slot) end
    end
    left = left - n * KEYS
  end
end

-- The same where the slot is known at run time only: so the code for a tile is there once.
local function each_in_turn(piece, n, f)
  local slot = i32(0)
  for at in range(0, piece.last - piece.first, KEYS) do
    f(piece.last - piece.first - at, slot)
    slot = (slot + 1) % n
  end
end

-- {====== A warp that loads ======

local Loader = {}
Loader.__index = Loader

local function new_loader(variant, args, smem, bars, chunk)
  return setmetatable({ variant = variant, args = args, smem = smem, bars = bars, chunk = chunk,
    coords = tma_tensor(args.K), parity = load.parities((1 << variant.slots) - 1) },
    Loader)
end

-- n panels of the tile from key `first` on, from panel `from` on, are on their way to those of `to`
-- from panel `at` on.
function Loader:load(piece, first, to, at, from, n, full, options)
  local variant, box = self.variant, {KEYS, PANEL}
  local kv_head = merge.key_head(variant, piece.head)
  local rows = pages.row_in_page(variant, first) // KEYS
  local page = pages.page(variant, self.args, piece.b, first)
  for i = 0, n - 1 do
    tma_load(tile(self.coords, box, {_, _})(_, _, rows, from + i, kv_head, page),
      tile(to, box, {0, at + i}), full, options)
  end
end

-- Of a tile, the warp's chunk, to a slot, once that is empty. Each block of a cluster brings some
-- panels of it to all.
function Loader:values(piece, first, slot)
  local high, bars = self.variant.cluster, self.bars
  local n, rank = PER_CHUNK // high, high > 1 and cluster_rank() or 0
  local at = self.chunk * PER_CHUNK + rank * n
  bars.empty[slot]:wait(self.parity.of(slot))
  if threadIdx.x % WARP == 0 then
    local full = bars.full[slot * CHUNKS + self.chunk]
    full:arrive_expect_tx(KEYS * PER_CHUNK * PANEL * self.variant.dtype.bits // 8)
    self:load(piece, first, self.smem.V(_, _, slot), at, at, n, full,
      high > 1 and { multicast = (1 << high) - 1 } or nil)
  end
  self.parity.turn(slot)
end

-- The other columns, which the scores of the tile before do not need any more, by the first warp.
function Loader:others(piece, first)
  if threadIdx.x % GROUP == 0 then
    local full = self.bars.full_rest[0]
    full:arrive_expect_tx(KEYS * PANEL * self.variant.dtype.bits // 8)
    self:load(piece, first, self.smem.K_rest, 0, PANELS, 1, full)
  end
end

-- The first tiles of a piece.
function Loader:begin(piece)
  for slot = 0, self.variant.slots - 1 do
    local first = piece.first + slot * KEYS
    if first < piece.last then
      self:values(piece, first, slot)
      if slot == 0 then self:others(piece, first) end
    end
  end
end

-- {====== The group that computes scores ======

local Scores = {}
Scores.__index = Scores

-- It is the block's first group, so threadIdx.x is the thread's number in it.
local function new_scores(variant, plan, args, smem, bars)
  local qk, copier = plan.QK:get_slice(threadIdx.x), plan.store_P:get_slice(threadIdx.x)
  local by_rest, by_last = plan.QK_rest:get_slice(threadIdx.x),
    plan.QK_last:get_slice(threadIdx.x)
  local shape, in_registers = plan.QK:partition_shape_C{ROWS, KEYS}, variant.held
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    K = {}, Q_rest = {}, S = fragment(f32, shape), P = fragment(plan.dtype, shape),
    copier = copier, to_P = copier:partition_D(select(smem.P, 1, 0)),
    Q = fragment(plan.dtype, plan.QK:partition_shape_A{ROWS, variant.held * PANEL}),
    place = qk:partition_C(identity_tensor{ROWS, KEYS}), all = named_barrier(1, GROUP),
    parity = load.parities(0), rest = pipeline_state(1), used = pipeline_state(1, {parity = 1}),
    hides_rows = variant.causal or variant.tree or variant.score ~= nil }
  for i = 0, PANELS - 1 do
    self.K[i] = qk:partition_B(tile(smem.V, {KEYS, PANEL, variant.slots}, {0, i, 0}))
  end
  self.K_rest = by_last:partition_B(smem.K_rest)
  local function shared_Q(i) return tile(smem.Q, {ROWS, PANEL}, {0, i - in_registers}) end
  for i = in_registers, PANELS - 1 do self.Q_rest[i] = by_rest:partition_A(shared_Q(i)) end
  self.Q_last = by_last:partition_A(recast(shared_Q(PANELS), plan.rest))
  self.some_S, self.rows = self.S, softmax.new_rows(self.S)
  return setmetatable(self, Scores)
end

function Scores:row(r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- Those of a piece's queries that are not in registers. Rows that no query has are 0. All loads are
-- on their way before the first store. No product reads the last ones any more.
function Scores:share_Q(piece, kv_head, first_row)
  local variant, across = self.variant, (PANELS + 1 - self.variant.held) * PANEL // WIDTH
  local n, mine = ROWS * across // GROUP, {}
  local function place(i)
    local at = i * GROUP + threadIdx.x
    return at // across, at % across
  end
  for i = 0, n - 1 do
    local row, j = place(i)
    local query, head, is_there = merge.query(variant, kv_head, first_row, row)
    mine[i] = fragment(variant.dtype, WIDTH)
    clear(mine[i])
    if is_there then
      copy(tile(self.args.Q(query, _, head, piece.b), {WIDTH},
        {variant.held * PANEL // WIDTH + j}), mine[i])
    end
  end
  for i = 0, n - 1 do
    local row, j = place(i)
    local to = tile(self.smem.Q(row, _), {WIDTH}, {j})
    if variant.rope and j >= (PANELS - variant.held) * PANEL // WIDTH then
      copy(mine[i], recast(to, variant.dtype))
    else
      copy(cast(mine[i], self.plan.dtype), to)
    end
  end
  fence_proxy_async()
  self.all:sync()
end

-- A pair of a query, to the registers of products.
local function hold(from, to)
  if from.dtype == to.dtype then return copy(from, to) end
  local own = fragment(from.dtype, 2)
  copy(from, own)
  copy(cast(own, to.dtype), to)
end

-- Those that are in registers.
function Scores:hold_Q(piece, kv_head, first_row)
  clear(self.Q)
  for r = 0, 1 do
    local query, head, is_there = merge.query(self.variant, kv_head, first_row, self:row(r))
    if is_there then
      local row = merge.own_pairs(self.args.Q(query, _, head, piece.b))
      for j in unroll(0, self.variant.held * PANEL // 8) do
        hold(row(_, j), self.Q({_, r, j % 2}, 0, j // 2))
      end
    end
  end
end

-- A piece's queries. Where many are not in registers, these come first: they pass through some.
function Scores:load_Q(piece)
  local kv_head, first_row = merge.key_head(self.variant, piece.head)
  if self.variant.loader then self:share_Q(piece, kv_head, first_row) end
  self:hold_Q(piece, kv_head, first_row)
  if not self.variant.loader then self:share_Q(piece, kv_head, first_row) end
end

-- The products of a panel, which begins a chunk where its number says so.
function Scores:multiply_panel(i, slot)
  local plan, K, held = self.plan, self.K[i](_, _, _, slot), self.variant.held
  if i % PER_CHUNK == 0 then
    self.bars.full[slot * CHUNKS + i // PER_CHUNK]:wait(self.parity.of(slot))
    wgmma_fence() -- of each chunk: else ptxas adds one, and one product waits for another
  end
  if i < held then
    local steps = size(self.Q, 2) // held
    gemm(plan.QK, tile(self.Q, {size(self.Q, 0), 1, steps}, {0, 0, i}), K, self.S,
      {accumulate = i > 0})
  else
    gemm(plan.QK_rest, self.Q_rest[i], K, self.S)
  end
end

-- The scores of the tile in a slot. Calls meanwhile() after the products of some panels.
function Scores:multiply(slot, meanwhile)
  for i = 0, PANELS - 1 do
    if i == self.variant.share_before then meanwhile() end
    self:multiply_panel(i, slot)
  end
  self.bars.full_rest[0]:wait(self.rest.parity)
  wgmma_fence()
  gemm(self.plan.QK_last, self.Q_last, self.K_rest, self.S)
  wgmma_commit()
  wgmma_wait(0)
  arrive(self.variant.loader and self.bars.empty_rest[0] or self.bars.scored[slot])
  self.rest:advance()
end

-- Masks and scores: those of keys that a row does not see become -infinity. Each number of a column
-- is a constant here: the sums of all of them and the thread's first one would take registers.
function Scores:mask(piece, left, factor)
  if self.hides_rows then
    tiles.mask(self, piece, piece.last - left, KEYS, factor)
  elseif left < KEYS then
    local limit = left - self.place[0][2]
    for r = 0, 1 do
      local row = softmax.row_of(self.S, r)
      for j in range(size(row, 1)) do
        for i = 0, 1 do row[{i, j}] = where(8 * j + i < limit, row[{i, j}], -math.huge) end
      end
    end
  end
end

-- P of the tile in a slot, and what sums before it are to be multiplied by, for the other groups.
function Scores:share_P(slot)
  self.bars.used[0]:wait(self.used.parity)
  self.used:advance()
  copy(self.plan.store_P, self.copier:retile_S(self.P), self.to_P)
  fence_proxy_async()
  if threadIdx.x % 4 == 0 then
    for r = 0, 1 do self.smem.factors[{ self:row(r), slot }] = self.rows.shrink[r] end
  end
  arrive(self.bars.ready[slot])
end

-- P of the tile whose scores are there, and the scores of the next one. P waits for the products
-- of the tile before, so the tensor cores get the next scores first. ptxas lets products run on
-- only within straight code: they may not be pending where a turn of the loop ends.
function Scores:step(piece, left, slot, factor)
  self:mask(piece, left, factor)
  fill(self.rows.shrink, 1.0)
  softmax.softmax(self.S, self.rows, scores.factor(self.variant, factor), self.hides_rows, false,
    self.variant.lazy)
  copy(cast(self.S, self.plan.dtype), self.P)
  self.parity.turn(slot)
  local function share() self:share_P(slot) end
  if left > KEYS then self:multiply((slot + 1) % self.variant.slots, share) else share() end
end

function Scores:compute(piece, factor)
  fill(self.rows.tops, -math.huge)
  clear(self.rows.sums)
  if piece.first < piece.last then self:multiply(0, function() end) end
  each_tile(piece, self.variant.slots, function(left, slot)
    self:step(piece, left, slot, factor)
  end)
end

-- The logarithm, or {maximum, sum}, of row `row`.
function Scores:store_row(piece, row, top, sum)
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

-- Row r's maximum, its sum, and what O is to be divided by. A whole head has its sink, too.
function Scores:total(piece, r)
  local top, sum = self.rows.tops[r], self.rows.sums[r]
  local kv_head, first_row = merge.key_head(self.variant, piece.head)
  local most, all, shrink = merge.with_sink(self.variant, self.args,
    { b = piece.b, kv_head = kv_head, first_row = first_row, row = self:row(r) }, top, sum)
  if shrink == nil then return top, sum, sum end
  return where(piece.is_whole, most, top), where(piece.is_whole, all, sum), all / shrink
end

-- The sums of a piece's exponentials, in place `which` of two.
function Scores:finish(piece, which)
  softmax.finish(self.rows)
  if threadIdx.x % 4 == 0 then
    for r = 0, 1 do
      local top, sum, divisor = self:total(piece, r)
      self.smem.totals[{ self:row(r), which }] = divisor
      self:store_row(piece, self:row(r), top, sum)
    end
  end
end

-- {====== A group that has sums ======

local Sums = {}
Sums.__index = Sums

-- The first one's warps load. `number` is known at run time only: so both groups share their code.
local function new_sums(variant, plan, args, smem, bars, number)
  local thread = threadIdx.x % GROUP
  local pv, O = plan.PV:get_slice(thread), fragment(f32, plan.PV:partition_shape_C{ROWS, COLUMNS})
  return setmetatable({ variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    number = number, thread = thread, P = pv:partition_A(select(smem.P, 1, 0)),
    V = pv:partition_B(tile(select(smem.V, 1, 0, 2), {COLUMNS, KEYS, variant.slots},
      {number, 0, 0})),
    O = O, all_O = variant.loader and view(O, layout{{2, 2, COLUMNS // 8}, 1, 1}) or O,
    place_O = pv:partition_C(identity_tensor{ROWS, COLUMNS}), parity = load.parities(0),
    all = named_barrier(3 + number, GROUP),
    each_tile = variant.loader and each_tile or each_in_turn,
    loader = not variant.loader and new_loader(variant, args, smem, bars,
      of_first_lane(thread // WARP)) }, Sums)
end

-- f(loader) in the group that loads, if `is_time`.
function Sums:let_load(is_time, f)
  if self.loader then
    if self.number == 0 then
      if is_time then f(self.loader) end
    end
  end
end

function Sums:row(r) return softmax.row_of(self.place_O, r)[{0, 0}][1] end

-- Numbers of the thread's rows.
function Sums:read(numbers, i)
  local mine = fragment(f32, 2)
  for r = 0, 1 do mine[r] = numbers[{ self:row(r), i }] end
  return mine
end

-- The group does not read P and the slot any more. That the slot is empty, it says in all blocks
-- that fill it.
function Sums:release(slot)
  local empty, high, lane = self.bars.empty[slot], self.variant.cluster, threadIdx.x % WARP
  arrive(self.bars.used[0])
  if high == 1 then
    if lane == 0 then empty:arrive() end
  elseif lane < high then
    empty:arrive(lane)
  end
end

-- Values of a tile from key n_own on become zeros: they are not the sequence's, and may be NaN.
function Sums:clear_behind(slot, n_own)
  local across, zeros = COLUMNS // WIDTH, fragment(self.plan.dtype, {1, WIDTH})
  local row, at = n_own + self.thread // across, self.number * across + self.thread % across
  clear(zeros)
  while row < KEYS do
    copy(zeros, tile(self.smem.V(_, _, slot), {1, WIDTH}, {row, at}))
    row = row + GROUP // across
  end
  fence_proxy_async()
  self.all:sync()
end

-- The sums of a tile, once the scores of the next one are there.
function Sums:step(piece, left, slot)
  local n_slots = self.variant.slots
  local first, after = piece.last - left, (slot + 1) % n_slots
  self:let_load(first == piece.first and left > KEYS, function(loader)
    self.bars.scored[0]:wait(self.parity.of(0))
    loader:others(piece, first + KEYS)
  end)
  self.bars.ready[slot]:wait(self.parity.of(slot))
  local by = self:read(self.smem.factors, slot)
  if vote_any(by[0] ~= 1.0 or by[1] ~= 1.0) then softmax.scale_rows(self.all_O, by) end
  self.parity.turn(slot)
  if not self.variant.loader and left > KEYS then
    self.bars.scored[after]:wait(self.parity.of(after))
  end
  if self.variant.has_tma and left < KEYS then self:clear_behind(slot, left) end
  wgmma_fence()
  gemm(self.plan.PV, self.P, self.V(_, _, _, slot), self.O)
  wgmma_commit()
  self:let_load(left > 2 * KEYS, function(loader) loader:others(piece, first + 2 * KEYS) end)
  wgmma_wait(0)
  self:release(slot)
  self:let_load(left > n_slots * KEYS, function(loader)
    loader:values(piece, first + n_slots * KEYS, slot)
  end)
end

function Sums:compute(piece)
  clear(self.O)
  self.each_tile(piece, self.variant.slots, function(left, slot) self:step(piece, left, slot) end)
end

-- The thread's part of the results, or of partial ones.
function Sums:store(piece, which)
  local variant, args, sums = self.variant, self.args, self:read(self.smem.totals, which)
  local kv_head, first_row = merge.key_head(variant, piece.head)
  local first = self.number * (COLUMNS // 8)
  for r = 0, 1 do
    local row, mine = self:row(r), softmax.row_of(self.all_O, r)
    if piece.is_whole then
      local place = { b = piece.b, kv_head = kv_head, first_row = first_row, row = row }
      merge.store_pairs(variant, args, place, sums[r], mine, first)
    elseif row < merge.used_rows(variant) then
      local to = merge.own_pairs(args.parts(_, row, piece.slot))
      for j in range(size(mine, 1)) do copy(mine(_, j), to(_, first + j)) end
    end
  end
end

-- {====== The kernel ======

-- All groups meet where a piece ends. Sums of exponentials have two places, as those of the next
-- piece come before all threads have read these.
local function score_all(variant, plan, args, smem, bars, met, k_scale, c)
  local group, which = new_scores(variant, plan, args, smem, bars), i32(0)
  local function finish(piece, next_piece)
    group:finish(piece, which)
    met:sync()
    which = 1 - which
    if next_piece.n_units > 0 then group:load_Q(next_piece) end
  end
  schedule.each_piece(variant, args, {
    first = function(piece) group:load_Q(piece) end, finish = finish,
    compute = function(piece)
      group:compute(piece, merge.factor_of_scores(variant, k_scale, c, piece))
    end })
end

local function sum_all(variant, plan, args, smem, bars, met, number)
  local group, which = new_sums(variant, plan, args, smem, bars, number), i32(0)
  local function begin(piece)
    group:let_load(piece.n_units > 0, function(loader) loader:begin(piece) end)
  end
  local function finish(piece, next_piece)
    met:sync()
    begin(next_piece)
    group:store(piece, which)
    which = 1 - which
  end
  schedule.each_piece(variant, args, {
    first = begin, compute = function(piece) group:compute(piece) end, finish = finish })
end

-- full, empty: of slots, by the loads of chunks, and by the groups that have sums; full_rest: of
-- the other columns. Of a tile: scored, its scores are there; ready, P is, and what goes with it;
-- used, P is not read any more.
local function barriers(variant)
  local n, loads = variant.slots, variant.loader and WARPS or 1
  local of_rest = variant.narrow and 1 or loads
  return { full = mbarrier(n * CHUNKS, loads), full_rest = mbarrier(1, of_rest),
           scored = not variant.loader and mbarrier(n, WARPS), ready = mbarrier(n, WARPS),
           empty = mbarrier(n, 2 * WARPS * variant.cluster), used = mbarrier(1, 2 * WARPS),
           empty_rest = variant.loader and mbarrier(1, WARPS) }
end

function M.make(variant)
  local plan = plan_of(variant)
  return kernel(variant.name .. "_latent_hopper", function(Q, K, V, O, LSE, lengths, capacity,
                                                          n_parts, parts, ml, table,
                                                          k_scale, v_scale, mask, K_rope, c, ...)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, k_scale = k_scale,
                   v_scale = v_scale, mask = mask, K_rope = K_rope, operands = { ... } }
    local smem = { V = shared(plan.dtype, plan.V), K_rest = shared(plan.rest, plan.K_rest),
                   P = shared(plan.dtype, plan.P), Q = shared(plan.dtype, plan.Q),
                   factors = shared(f32, {ROWS, variant.slots}), totals = shared(f32, {ROWS, 2}) }
    local own = variant.loader and load.of(variant).new_shared(variant)
    local bars, met = barriers(variant), named_barrier(2, GROUPS * GROUP)
    if variant.cluster == 1 then sync_threads() else sync_cluster() end
    grid_dependency_wait()
    grid_dependency_launch()
    local group = of_first_lane(threadIdx.x // GROUP)
    if group == 0 then
      setmaxnreg(variant.registers[1])
      score_all(variant, plan, args, smem, bars, met, k_scale, c)
    elseif variant.loader and group == GROUPS then
      setmaxnreg(variant.loader)
      load.all(variant, args, smem, bars, own)
    else
      setmaxnreg(variant.registers[2])
      sum_all(variant, plan, args, smem, bars, met, group - 1)
    end
    if variant.cluster > 1 then sync_cluster() end -- others may still arrive here
  end, { min_blocks = 1 })
end

return M
