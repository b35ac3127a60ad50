-- attention_decode_latent_hopper.lua: attention_decode where values are the first 512 columns of
-- keys of 576, on Hopper, for heads enough that the tensor cores limit it. A warp of the first
-- group loads tiles of 64 keys by TMA into two slots. Of 64 queries two groups have half of the
-- columns of O each, which fill their registers. Of each two tiles
--   the first group computes   S = Q K' of tile 0 and P, the probabilities
--   the second group           those of tile 1
--   both                       O += P V of tile 0, then of tile 1
-- So the tensor cores have scores of tile 1 during the softmax of tile 0, and sums of tile 0 during
-- that of tile 1. The second group waits for the maxima of tile 0, and not for its P. A group has
-- its own P in registers, and the other one's in shared memory. K is there once: V is its first
-- columns, transposed by the product, and P takes the place of the others.
-- Blocks of a cluster have other queries of the same keys; each loads rows of a tile for all.
-- Fields of its configurations: stages, the slots, 2; cluster, blocks of one; registers {of the
-- group that loads, of the others}.
local latent = require "cuttle.attention_decode_latent"
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local schedule = require "cuttle.attention_decode_schedule"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.attention_decode_tiles"
local tma = require "cuttle.tma_rules"
local M = {}

local WARP <const>, GROUP <const>, GROUPS <const> = 32, 128, 3
local BOTH <const> = 2 * GROUP -- threads of the groups that multiply
local ROWS <const>, KEYS <const> = 64, 64
local DEPTH_V <const>, PANEL <const> = 512, 64 -- columns of keys that are values, and the others
local PANELS <const> = DEPTH_V // PANEL
local SLOTS <const> = 2
-- A slot is full chunk by chunk, {first panel, the one after its last}: products begin before all
-- of them are there. Each group's half of the values is a chunk, what comes after is another.
local CHUNKS <const> = { { 0, 4 }, { 4, 8 }, { 8, 9 } }
local COLUMNS <const> = DEPTH_V // 2
local WIDTH <const> = 8 -- elements of a copy of 16 bytes
local OVERHEAD <const> = 256 -- of a piece, in keys
local LEAST <const> = 2 -- steps of a part, at least
local LINE <const> = 128 -- bytes of a line of shared memory
local STATE <const> = 4 -- numbers of a row: maxima of both groups, then their sums
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
           cluster = config.cluster, registers = config.registers, resident = 1,
           overhead = OVERHEAD // KEYS, least = LEAST, uncut = true }
end

--- See attention_decode.lua.
function M.shared_bytes(config)
  return 2 * (ROWS + KEYS * config.stages) * (DEPTH_V + PANEL) + 4 * GROUP * 2 * STATE + 256
end

--- K as the kernel takes it.
function M.keys(p) return tma.mapped(p.K, 2) end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, kind = variant.dtype, "F32" .. names[variant.dtype.name]
  local k_major = gmma_layout(dtype, "K", LINE)
  local function product(columns, operands)
    return tiled_mma(("SM90_64x%dx16_%s_%s"):format(columns, kind, operands))
  end
  local QK = product(KEYS, "SS")
  return {
    QK = QK, PV = product(COLUMNS, "SS"), PV_own = product(COLUMNS, "RS"),
    Q = tile_to_shape(k_major, {ROWS, DEPTH_V + PANEL}),
    K = tile_to_shape(k_major, {KEYS, DEPTH_V, SLOTS}),
    K_rest = tile_to_shape(k_major, {KEYS, PANEL, SLOTS}),
    store_P = tiled_copy_C(atom("SM90_U16x8_STSM_T", dtype), QK),
  }
end

local function of_first_lane(x) return shfl_idx(x, 0) end

local function none() end

-- The barrier that says that a chunk of a slot is there.
local function full_of(bars, slot, chunk) return bars.full[slot * #CHUNKS + chunk - 1] end

-- {====== The warp that loads ======

local function load_all(variant, args, smem, bars)
  local high, coords = variant.cluster, tma_tensor(args.K)
  local rows = KEYS // high -- that a block of the cluster loads
  local rank = high > 1 and cluster_rank() or 0
  local options = high > 1 and { multicast = (1 << high) - 1 } or nil
  local states = { [0] = pipeline_state(1, {parity = 1}), pipeline_state(1, {parity = 1}) }

  local function load_chunk(i, slot, n, kv_head, page)
    local chunk = CHUNKS[i]
    local full, wide = full_of(bars, slot, i), chunk[2] - chunk[1]
    local to, at = smem.K(_, _, slot), chunk[1] // wide
    if i == #CHUNKS then to, at = smem.K_rest(_, _, slot), 0 end
    local box = {rows, wide * PANEL}
    full:arrive_expect_tx(KEYS * wide * PANEL * variant.dtype.bits // 8)
    tma_load(tile(coords, box, {_, _})(_, _, n, chunk[1] // wide, kv_head, page),
      tile(to, box, {rank, at}), full, options)
  end

  local function load(piece, first, slot)
    local kv_head, state = merge.key_head(variant, piece.head), states[slot]
    local n = pages.row_in_page(variant, first) // rows + rank
    local page = pages.page(variant, args, piece.b, first)
    for half = 0, 1 do
      bars.empty[slot * 2 + half]:wait(state.parity)
      if threadIdx.x == 0 then load_chunk(half + 1, slot, n, kv_head, page) end
    end
    if threadIdx.x == 0 then load_chunk(#CHUNKS, slot, n, kv_head, page) end
    state:advance()
  end

  schedule.each_piece(variant, args, { first = none, finish = none, compute = function(piece)
    for first in range(piece.first, piece.last, 2 * KEYS) do
      load(piece, first, 0)
      if first + KEYS < piece.last then load(piece, first + KEYS, 1) end
    end
  end })
end

-- {====== A group that multiplies ======

local Group = {}
Group.__index = Group

local function new_group(variant, plan, args, smem, bars, number)
  local thread = threadIdx.x % GROUP
  local qk, copier = plan.QK:get_slice(thread), plan.store_P:get_slice(thread)
  local pv, of_P = plan.PV:get_slice(thread), select(smem.K_rest, 1, 0, 2)
  local shape = plan.QK:partition_shape_C{ROWS, KEYS}
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    number = number, thread = thread, K = {}, Q = {}, S = fragment(f32, shape), copier = copier,
    P = fragment(variant.dtype, shape), to_P = copier:partition_D(of_P),
    other_P = pv:partition_A(of_P),
    V = pv:partition_B(tile(select(smem.K, 1, 0, 2), {COLUMNS, KEYS, SLOTS}, {number, 0, 0})),
    O = fragment(f32, plan.PV:partition_shape_C{ROWS, COLUMNS}),
    place = qk:partition_C(identity_tensor{ROWS, KEYS}),
    place_O = pv:partition_C(identity_tensor{ROWS, COLUMNS}),
    base = fragment(f32, 2), others = fragment(f32, 2), -- what O, and P of tile 0, are relative to
    full = pipeline_state(1), all = named_barrier(1 + number, GROUP),
    both = named_barrier(3, BOTH), early = named_barrier(4, BOTH),
    handed = { [0] = named_barrier(5, BOTH), named_barrier(6, BOTH) } }
  for i = 0, PANELS do
    self.Q[i] = qk:partition_A(tile(smem.Q, {ROWS, PANEL}, {0, i}))
    self.K[i] = qk:partition_B(i < PANELS
      and tile(smem.K, {KEYS, PANEL, SLOTS}, {0, i, 0}) or smem.K_rest)
  end
  self.some_S, self.rows = self.S, softmax.new_rows(self.S)
  self.rows.tell = function(tops) self:tell(tops) end
  return setmetatable(self, Group)
end

function Group:row(r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- A piece's queries; rows that no query has are 0. Both groups come, and none has products with
-- the last ones any more.
function Group:load_Q(piece)
  local variant, args = self.variant, self.args
  local kv_head, first_row = merge.key_head(variant, piece.head)
  local across = (DEPTH_V + PANEL) // WIDTH
  for i in range(self.number * GROUP + self.thread, ROWS * across, BOTH) do
    local row, j = i // across, i % across
    local query, head, is_there = merge.query(variant, kv_head, first_row, row)
    local mine = fragment(variant.dtype, WIDTH)
    clear(mine)
    if is_there then copy(tile(args.Q(query, _, head, piece.b), {WIDTH}, {j}), mine) end
    copy(mine, tile(self.smem.Q(row, _), {WIDTH}, {j}))
  end
  fence_proxy_async()
  self.both:sync()
end

-- The products of the tile in the group's slot are under way, to S.
function Group:multiply_QK()
  local plan, slot = self.plan, self.number
  for chunk, panels in ipairs(CHUNKS) do
    full_of(self.bars, slot, chunk):wait(self.full.parity)
    wgmma_fence() -- of each chunk: else ptxas adds one, and one product waits for another
    for i = panels[1], panels[2] - 1 do
      gemm(plan.QK, self.Q[i], self.K[i](_, _, _, slot), self.S, {accumulate = i > 0})
    end
    wgmma_commit()
  end
  self.full:advance()
end

-- Values of a tile from key n_own on become zeros: they are not the sequence's, and may be NaN.
function Group:clear_behind(slot, n_own)
  local K, chunks, zeros = self.smem.K(_, _, slot), DEPTH_V // WIDTH,
    fragment(self.variant.dtype, {1, WIDTH})
  clear(zeros)
  for i in range(self.thread, (KEYS - n_own) * chunks, GROUP) do
    copy(zeros, tile(K, {1, WIDTH}, {n_own + i // chunks, i % chunks}))
  end
  fence_proxy_async()
  self.all:sync()
end

-- What numbers relative to `from` are to be multiplied by where they become relative to `to`.
local function factor_of(from, to) return where(from == to, 1.0, fast.exp2(from - to)) end

-- The sums of exponentials become relative to `tops`.
function Group:adopt(tops)
  local rows = self.rows
  for r = 0, 1 do
    rows.sums[r] = rows.sums[r] * factor_of(rows.tops[r], tops[r])
    rows.tops[r] = tops[r]
  end
end

-- S becomes P, relative to what `tops` are or become.
function Group:exponentiate(piece, first, factor, tops)
  tiles.mask(self, piece, first, KEYS)
  self:adopt(tops)
  softmax.softmax(self.S, self.rows, factor, true, false, self.variant.lazy)
  copy(cast(self.S, self.variant.dtype), self.P)
end

-- The other group gets P.
function Group:hand_on(piece, first)
  local slot = self.number
  copy(self.plan.store_P, self.copier:retile_S(self.P), self.to_P(_, _, _, slot))
  if first + KEYS > piece.n_keys then self:clear_behind(slot, piece.n_keys - first) end
  fence_proxy_async()
  self.handed[slot]:arrive()
end

-- Numbers of the thread's rows, of kind `which`, are written for the other group, or read.
function Group:write(numbers, which)
  for r = 0, 1 do self.smem.state[{self.thread, r, which}] = numbers[r] end
end

function Group:read(which)
  local numbers = fragment(f32, 2)
  for r = 0, 1 do numbers[r] = self.smem.state[{self.thread, r, which}] end
  return numbers
end

-- O becomes relative to `tops`, as P of a slot is, and their products are under way.
function Group:multiply_PV(slot, tops)
  local plan, by = self.plan, fragment(f32, 2)
  for r = 0, 1 do by[r] = factor_of(self.base[r], tops[r]) end
  copy(tops, self.base)
  if vote_any(by[0] ~= 1.0 or by[1] ~= 1.0) then softmax.scale_rows(self.O, by) end
  wgmma_fence()
  if slot == self.number then
    gemm(plan.PV_own, plan.PV_own:retile_A(self.P, plan.QK), self.V(_, _, _, slot), self.O)
  else
    gemm(plan.PV, self.other_P(_, _, _, slot), self.V(_, _, _, slot), self.O)
  end
  wgmma_commit()
end

-- The products are there, and the group's half of the slot is empty, in all blocks that fill it.
function Group:finish_PV(slot)
  wgmma_wait(0)
  local empty, high, lane = self.bars.empty[slot * 2 + self.number], self.variant.cluster,
    self.thread % WARP
  sync_warp()
  if high == 1 then
    if lane == 0 then empty:arrive() end
  elseif lane < high then
    empty:arrive(lane)
  end
end

-- Two tiles, or the last one, of the first group.
function Group:step_0(piece, first, factor, is_pair)
  self:multiply_QK()
  wgmma_wait(0)
  self:exponentiate(piece, first, factor, self.base)
  self:hand_on(piece, first)
  self:multiply_PV(0, self.rows.tops)
  local tops
  if is_pair then
    self.handed[1]:sync()
    tops = self:read(1)
  end
  self:finish_PV(0)
  if is_pair then
    self:multiply_PV(1, tops)
    self:finish_PV(1)
  end
end

-- Of the second group, the sums of tile 0.
function Group:sum_first()
  self.handed[0]:sync()
  self:multiply_PV(0, self.others)
end

-- What a group does as soon as it knows what its tile's P are relative to.
function Group:tell(tops)
  self:write(tops, self.number)
  if self.number == 0 then
    self.early:arrive()
  else
    self:sum_first()
  end
end

-- Of the second group.
function Group:step_1(piece, first, factor, is_pair)
  if is_pair then
    self:multiply_QK()
    wgmma_wait(0)
  end
  self.early:sync()
  copy(self:read(0), self.others)
  if is_pair then
    self:exponentiate(piece, first + KEYS, factor, self.others)
    self:hand_on(piece, first + KEYS)
  else
    self:sum_first()
  end
  self:finish_PV(0)
  if is_pair then
    self:multiply_PV(1, self.rows.tops)
    self:finish_PV(1)
  end
end

function Group:compute(piece, factor)
  local step, rows, n = self.number == 0 and self.step_0 or self.step_1, self.rows,
    cdiv(piece.last - piece.first, KEYS)
  fill(rows.tops, -math.huge)
  fill(self.base, -math.huge)
  clear(rows.sums)
  clear(self.O)
  local stop = piece.first + n // 2 * (2 * KEYS)
  for first in range(piece.first, stop, 2 * KEYS) do step(self, piece, first, factor, true) end
  if stop < piece.last then step(self, piece, stop, factor, false) end
end

-- The sums of both groups; both come.
function Group:total()
  local rows = self.rows
  self:adopt(self.base)
  self:write(rows.sums, 2 + self.number)
  self.both:sync()
  local a, b = self:read(2), self:read(3)
  for r = 0, 1 do rows.sums[r] = a[r] + b[r] end
end

-- f(number of the pair of columns, two sums) of the thread's row r.
function Group:each_pair(r, f)
  local places, mine = softmax.row_of(self.place_O, r), softmax.row_of(self.O, r)
  for j in range(size(mine, 1)) do
    f((self.number * COLUMNS + places[{0, j}][2]) // 2, mine[{0, j}], mine[{1, j}])
  end
end

-- The logarithm, or {maximum, sum}, of row `row`.
function Group:store_row(piece, row, top, sum)
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

-- The thread's part of the results, or of partial ones.
function Group:store(piece)
  local variant, args, rows = self.variant, self.args, self.rows
  self:total()
  softmax.finish(rows)
  if self.number == 0 and self.thread % 4 == 0 then
    for r = 0, 1 do self:store_row(piece, self:row(r), rows.tops[r], rows.sums[r]) end
  end
  local kv_head, first_row = merge.key_head(variant, piece.head)
  for r = 0, 1 do
    local row = self:row(r)
    if piece.is_whole then
      local place = { b = piece.b, kv_head = kv_head, first_row = first_row, row = row }
      merge.store_pairs(variant, args, place, rows.sums[r], function(f) self:each_pair(r, f) end)
    elseif row < merge.used_rows(variant) then
      local to, pair = args.parts(_, row, piece.slot), fragment(f32, 2)
      self:each_pair(r, function(i, a, b)
        pair[0], pair[1] = a, b
        copy(pair, tile(to, {2}, {i}))
      end)
    end
  end
end

local function multiply_all(variant, plan, args, smem, bars, k_scale, c, number)
  local group = new_group(variant, plan, args, smem, bars, number)
  local function compute(piece)
    group:compute(piece, merge.factor_of_scores(variant, k_scale, c, piece))
  end
  local function finish(piece, next_piece)
    group:store(piece)
    if next_piece.n_units > 0 then
      group.both:sync()
      group:load_Q(next_piece)
    end
  end
  schedule.each_piece(variant, args, {
    first = function(piece) group:load_Q(piece) end, compute = compute, finish = finish })
end

-- {====== The kernel ======

local function barriers(variant)
  local warps = GROUP // WARP
  return { full = mbarrier(SLOTS * #CHUNKS, 1),
           empty = mbarrier(SLOTS * 2, warps * variant.cluster) }
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
                   Q = shared(variant.dtype, plan.Q),
                   state = shared(f32, {GROUP, 2, STATE}) }
    local bars = barriers(variant)
    if variant.cluster == 1 then sync_threads() else sync_cluster() end
    grid_dependency_wait()
    grid_dependency_launch()
    local group = of_first_lane(threadIdx.x // GROUP)
    if group == 0 then
      setmaxnreg(variant.registers[1])
      if threadIdx.x < WARP then load_all(variant, args, smem, bars) end
    elseif group == 1 then
      setmaxnreg(variant.registers[2])
      multiply_all(variant, plan, args, smem, bars, k_scale, c, 0)
    else
      setmaxnreg(variant.registers[2])
      multiply_all(variant, plan, args, smem, bars, k_scale, c, 1)
    end
    if variant.cluster > 1 then sync_cluster() end -- others may still arrive here
  end, { min_blocks = 1 })
end

return M
