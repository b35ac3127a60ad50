-- attention_backward_hopper.lua: the gradients of attention on Hopper. A block owns a tile of keys,
-- 64 for each warp group that multiplies, and goes through the queries of all heads that read them.
-- For each tile of queries it computes:
--   S' = K Q', dP' = V dO'      of the group's keys, both transposed, sums in registers
--   P' = exp2(c S' - L), dS' = P' (dP' - D)
--   dV += P' dO, dK += dS' Q    P' and dS', packed in registers, are operands again
--   dQ += dS K                  of all groups' keys: dS by way of shared memory
-- Each group computes a part of dQ: some of the depth or, by_rows, of the queries. It computes the
-- part's transpose, K' dS', so that its stores to shared memory have no bank conflicts. TMA adds
-- the part to a sum in f32; attention_backward_turns.lua, if all runs are to have the same bits.
-- One more warp group loads by TMA. Two more kernels run: before this one, that of
-- attention_backward_rows.lua, and after it one that rounds dQ. Fields of configurations:
--   rows        the queries of a tile, a multiple of 64
--   depth       of a head, at most: TMA loads zeros for what is missing and does not store it;
--               so does it where values have less depth than queries
--   groups      that multiply
--   stages      tiles of Q, and of dO, in shared memory
--   registers   of a thread, {of the group that loads, of those that multiply}
--   by_rows     how dQ is shared among the groups; a part has 64 columns of depth
--   by_depth    sums of dK and dV do not fit a group's registers, so a block owns 64 keys, and
--               each group a part of the depth. A group computes S' and dP' of a part of the
--               queries. P' and dS' go to all groups by way of shared memory. Of dO there is one
--               tile. A group's part of dQ comes in pieces of 64 columns
--   by_warp     "causal": warps add dQ for the groups there, as they do if all runs are to have the
--               same bits
local blocks_of = require "cuttle.attention_blocks"
local packed = require "cuttle.attention_backward_packed"
local rows_of = require "cuttle.attention_backward_rows"
local scores = require "cuttle.attention_score"
local tma = require "cuttle.tma_rules"
local turns = require "cuttle.attention_backward_turns"
local M = {}

local GROUP <const>, KEYS <const>, WARP <const> = 128, 64, 32
local WIDTH <const> = 8 -- elements of 16 bytes
local THREADS <const> = 256 -- of the kernel that rounds dQ
local SLOTS <const> = 2 -- of dS, and P
local COLUMNS <const> = 64 -- of depth in a part of dQ

local names <const> = { f16 = "F16", bf16 = "BF16" }
local modes <const> = { "S", "D", "H", "B" } -- of the operands and results

function M.n_threads(config) return GROUP * (config.groups + 1) end

function M.trouble(config, p)
  if not names[p.dtype.name] then return "its kernel computes bf16 and f16" end
  if math.max(p.depth, p.depth_v) > config.depth then
    return ("its kernel computes D up to %d"):format(config.depth)
  elseif p.depth % WIDTH ~= 0 or p.depth_v % WIDTH ~= 0 then
    return "its kernel takes multiples of 8 for D"
  end
  if p.n_q == 0 or p.n_k == 0 or p.heads == 0 then return "there are no queries or no keys" end
  for _, name in ipairs { "dO", "dK", "dV", "O", "dQ" } do
    if p[name].dtype ~= p.dtype then
      return ("%s is %s, and its kernel takes Q's type"):format(name, p[name].dtype)
    end
  end
  for _, name in ipairs { "Q", "K", "V", "O", "dO", "dQ", "dK", "dV" } do
    local why = tma.trouble(p[name], name, modes, 2, 0)
    if why then return why end
  end
end

-- The keys of a block.
local function keys_of(config) return config.by_depth and KEYS or KEYS * config.groups end

function M.variant(p, config)
  return { depth = config.depth, is_whole = p.sequences == nil and p.n_k % keys_of(config) == 0,
           has_adders = p.deterministic or config.by_warp == "causal" and p.causal }
end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, depth, rows = variant.dtype, variant.depth, variant.rows
  local groups, by_rows, by_depth = variant.groups, variant.by_rows, variant.by_depth
  local keys = keys_of(variant)
  local n, columns = by_rows and rows // groups or rows, by_rows and depth or depth // groups
  local own_rows, own_depth = by_depth and rows // groups or rows, by_depth and columns or depth
  local parts = by_depth and columns // COLUMNS or 1
  local kind = ("F32%s%s"):format(names[dtype.name], names[dtype.name])
  local k_major = gmma_layout(dtype, "K", 128)
  local KQ = tiled_mma(("SM90_64x%dx16_%s_SS"):format(own_rows, kind))
  local dKV = tiled_mma(("SM90_64x%dx16_%s_%s"):format(own_depth, kind, by_depth and "SS" or "RS"))
  local store = atom("SM90_U32x4_STSM_N", dtype)
  local O_stages = by_depth and 1 or variant.stages
  local part = columns // parts
  return {
    keys = keys, columns = part, rows = n, KQ = KQ, dKV = dKV, parts = parts,
    own_rows = own_rows, own_depth = own_depth,
    dQ = tiled_mma(("SM90_%dx%dx16_%s_SS"):format(part, n, kind)),
    KV = tile_to_shape(k_major, {keys, depth}),
    QO = tile_to_shape(k_major, {rows, depth, variant.stages}),
    dO = tile_to_shape(k_major, {rows, depth, O_stages}), O_stages = O_stages,
    dS = tile_to_shape(k_major, {keys, rows, SLOTS}),
    sum = tile_to_shape(gmma_layout(f32, "K", 128), {n, part, groups}),
    of_rows = layout({rows, variant.stages}, {1, rows}),
    of_O_rows = layout({rows, O_stages}, {1, rows}),
    store_dS = tiled_copy_C(store, KQ), store_dKV = tiled_copy_C(store, dKV),
    group = GROUP, KV_bytes = keys * depth * dtype.bits // 8,
    QO_bytes = rows * (depth * dtype.bits // 8 + 4),
  }
end

-- {====== The block's tiles ======

-- Tiles of a tensor (S,D,H,B) for TMA, from row `first` on, nil: 0.
local function boxes(t, tiler, first)
  local coords = tma_tensor(t)
  if first ~= nil then coords = domain_offset({first, 0, 0, 0}, coords) end
  return tile(coords, tiler, {_, _})
end

local function of_first_lane(x) return shfl_idx(x, 0) end

-- The tiles of queries that see one of the block's keys by masks and scores: the first, and the one
-- behind the last. All, where blocks take turns.
local function tiles_of(variant, args)
  local n_tiles = cdiv(args.n_q, variant.rows)
  if variant.deterministic then return 0, n_tiles end
  local key = args.n * args.keys
  local from, to = variant.score:queries(args.operands, key, key + args.keys, args)
  return from == nil and 0 or max(from, 0) // variant.rows,
    to == nil and n_tiles or min(n_tiles, cdiv(max(to, 0), variant.rows))
end

-- Calls f(head, first, last) for each head that reads the block's keys, of tiles of queries that
-- see one; or f(head, 0, n, list), where a list of attention_blocks.lua has the n tiles.
local function tile_in(list, i)
  if list == nil then return i end
  return list[2 + i]
end

local function each_head(variant, args, f)
  local first, last = 0, nil
  if args.list ~= nil then
    for head in range(args.kv_head * args.group, (args.kv_head + 1) * args.group) do
      local list = args.list(_, args.n, head, args.b)
      f(head, 0, list[0] + list[1], list)
    end
    return
  elseif variant.score then
    first, last = tiles_of(variant, args)
  elseif variant.causal then
    first = max(args.n * args.keys - (args.n_k - args.n_q), 0) // variant.rows
  end
  for head in range(args.kv_head * args.group, (args.kv_head + 1) * args.group) do
    f(head, first, last or cdiv(args.n_q, variant.rows))
  end
end

-- {====== The group that loads ======

local function load_all(variant, plan, args, smem, bars)
  local rows, depth, batch = variant.rows, variant.depth, args.batch
  local load = packed.new_load(variant, bars)
  local function load_keys(t, s, full)
    load(plan.KV_bytes, function() return s end, full, args.n_k - args.n * plan.keys, function(bar)
      tma_load(boxes(t, {plan.keys, depth}, args.k)(_, _, args.n, 0, args.kv_head, batch), s, bar)
    end)
  end
  load_keys(args.K, smem.K, bars.K_full[0])
  load_keys(args.V, smem.V, bars.V_full[0])
  local state = pipeline_state(variant.stages, {parity = 1})
  local of_O = variant.by_depth and pipeline_state(plan.O_stages, {parity = 1}) or state
  each_head(variant, args, function(head, first, last, list)
    local gQ = boxes(args.Q, {rows, depth}, args.q)(_, _, _, 0, head, batch)
    local gdO = boxes(args.dO, {rows, depth}, args.q)(_, _, _, 0, head, batch)
    local gL, gD = tile(tma_tensor(args.L), {rows}, {_})(_, _, head, batch),
      tile(tma_tensor(args.D), {rows}, {_})(_, _, head, batch)
    for m in range(first, last) do
      local number = tile_in(list, m)
      local slot, n_own = state.slot, args.n_q - number * rows
      bars.Q_empty[slot]:wait(state.parity)
      local function own_Q() return smem.Q(_, _, slot) end
      load(plan.QO_bytes, own_Q, bars.Q_full[slot], n_own, function(bar)
        tma_load(gQ(_, _, number), own_Q(), bar)
        tma_load(gL(_, packed.tile_at(args, number)), smem.L(_, slot), bar)
      end)
      if variant.by_depth then slot = of_O.slot end
      bars.dO_empty[slot]:wait(of_O.parity)
      local function own_dO() return smem.dO(_, _, slot) end
      load(plan.QO_bytes, own_dO, bars.dO_full[slot], n_own, function(bar)
        tma_load(gdO(_, _, number), own_dO(), bar)
        tma_load(gD(_, packed.tile_at(args, number)), smem.D(_, slot), bar)
      end)
      state:advance()
      if variant.by_depth then of_O:advance() end
    end
  end)
end

-- {====== A group that multiplies ======

local Group = {}
Group.__index = Group

-- What of the tiles in shared memory is the group's: its keys, or by_depth its queries and columns.
local function own_tiles(variant, plan, smem, number)
  local rows, depth = variant.rows, variant.depth
  local function columns_of(i)
    return tile(select(smem.K, 1, 0), {plan.columns, plan.keys}, {i, 0})
  end
  if not variant.by_depth then
    local sK, sV = tile(smem.K, {KEYS, depth}, {number, 0}),
      tile(smem.V, {KEYS, depth}, {number, 0})
    local at = variant.by_rows and number or 0
    local dS_rows = tile(select(smem.dS, 1, 0, 2), {plan.rows, plan.keys, SLOTS}, {at, 0, 0})
    return { K = sK, V = sV, own_K = sK, own_V = sV, Q = smem.Q, dO = smem.dO,
             Qt = select(smem.Q, 1, 0, 2), dOt = select(smem.dO, 1, 0, 2),
             to_dS = tile(smem.dS, {KEYS, rows}, {number, 0}),
             Kt = { columns_of(variant.by_rows and 0 or number) },
             dSt = dS_rows }
  end
  local function queries_of(s, stages)
    return tile(s, {plan.own_rows, depth, stages}, {number, 0, 0})
  end
  local function transposed(s, stages)
    return tile(select(s, 1, 0, 2), {plan.own_depth, rows, stages}, {number, 0, 0})
  end
  local function own(s) return tile(s, {KEYS, plan.own_depth}, {0, number}) end
  local own_dS = {KEYS, plan.own_rows}
  local t = { K = smem.K, V = smem.V, own_K = own(smem.K), own_V = own(smem.V),
              Q = queries_of(smem.Q, variant.stages), dO = queries_of(smem.dO, plan.O_stages),
              Qt = transposed(smem.Q, variant.stages), dOt = transposed(smem.dO, plan.O_stages),
              to_dS = tile(smem.dS, own_dS, {0, number}), to_P = tile(smem.P, own_dS, {0, number}),
              dSt = select(smem.dS, 1, 0, 2), Kt = {} }
  for i = 1, plan.parts do t.Kt[i] = columns_of(number * plan.parts + i - 1) end
  return t
end

local function new_group(variant, plan, args, smem, bars)
  local number, thread = of_first_lane(threadIdx.x // GROUP) - 1, threadIdx.x % GROUP
  local kq, dkv, dq = plan.KQ:get_slice(thread), plan.dKV:get_slice(thread),
    plan.dQ:get_slice(thread)
  local t, by_depth = own_tiles(variant, plan, smem, number), variant.by_depth
  local of_scores, of_keys = plan.KQ:partition_shape_C{KEYS, plan.own_rows},
    plan.dKV:partition_shape_C{KEYS, plan.own_depth}
  local copier = plan.store_dS:get_slice(thread)
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    number = number, thread = thread, is_first = thread == 0, own_K = t.own_K, own_V = t.own_V,
    sum = smem.sum(_, _, number), first_row = by_depth and number * plan.own_rows or 0,
    K = kq:partition_A(t.K), V = kq:partition_A(t.V),
    Q = kq:partition_B(t.Q), dO = kq:partition_B(t.dO),
    Qt = dkv:partition_B(t.Qt), dOt = dkv:partition_B(t.dOt),
    S = fragment(f32, of_scores), dP = fragment(f32, of_scores),
    P = fragment(variant.dtype, of_scores), dS = fragment(variant.dtype, of_scores),
    dK = fragment(f32, of_keys), dV = fragment(f32, of_keys),
    places = kq:partition_C(identity_tensor{KEYS, plan.own_rows}), copier = copier,
    to_dS = copier:partition_D(t.to_dS), Kt = {}, dSt = dq:partition_B(t.dSt),
    dQ = fragment(f32, plan.dQ:partition_shape_C{plan.columns, plan.rows}),
    to_sum = dq:partition_C(select(smem.sum(_, _, number), 1, 0)),
    q = pipeline_state(variant.stages), slot = pipeline_state(SLOTS),
    all = named_barrier(1, variant.groups * GROUP), together = named_barrier(2 + number, GROUP),
    turns = variant.has_adders and turns.barriers(variant, number, GROUP) }
  for i, columns in ipairs(t.Kt) do self.Kt[i] = dq:partition_A(columns) end
  self.o = by_depth and pipeline_state(plan.O_stages) or self.q
  if by_depth then
    self.to_P = copier:partition_D(t.to_P)
    self.P_all, self.dS_all = dkv:partition_A(smem.P), dkv:partition_A(smem.dS)
  end
  return setmetatable(self, Group)
end

-- A product that is under way until wgmma_wait.
local function begin(mma, A, B, C, options)
  wgmma_fence()
  gemm(mma, A, B, C, options)
  wgmma_commit()
end

-- Calls f(at, i) for the thread's elements in group j of 8 columns of S': at is the place, i the
-- column of the two.
local function each_of(j, f)
  for r = 0, 1 do
    for i = 0, 1 do f({{i, r, j}, 0, 0}, i) end
  end
end

-- The two values of a tile's rows, L or D, that belong to the thread's columns in group j.
function Group:pair(t, j)
  local two = fragment(f32, 2)
  copy(tile(t, {2}, {(self.places[{{0, 0, j}, 0, 0}][2] + self.first_row) // 2}), two)
  return two
end

-- The score at a place, -inf where query and key do not see each other.
function Group:score(at, m)
  local args, key, query = self.args, self.places[at][1], self.places[at][2]
  local seen = key < self.n_keys
  if self.variant.causal then
    query = query + self.first_row
    seen = seen and query + m * self.variant.rows >= key + self.first_key - (args.n_k - args.n_q)
  end
  return where(seen, self.S[at], -math.huge)
end

-- Do P' and what S becomes differ?
local function has_two(kind) return kind and (kind.bends or kind.drops) end

-- P' of the thread's elements by masks and scores; S becomes P' times the derivative of the scores,
-- of which none is dropped.
function Group:weigh(at, m, top, masked)
  local args, kind = self.args, self.variant.score
  local place = { q = self.places[at][2] + self.first_row + m * self.variant.rows,
    k = self.places[at][1] + self.first_key, h = self.head, b = args.b, n_q = args.n_q,
    n_k = args.n_k }
  local s, slope = kind:element_and_gradient(args.operands, self.S[at], place, args.c, masked)
  local p = fast.exp2(s * kind:factor(args.c) - top)
  self.S[at] = slope ~= nil and p * slope or p
  if kind.drops then p = p * kind:kept_factor(args.operands, place) end
  if has_two(kind) then self.P[at] = cast(p, self.variant.dtype) end
end

-- What dP' of an element is before sums are subtracted: of those that were dropped 0.
function Group:dP_at(at)
  local kind = self.variant.score
  if not (kind and kind.drops) then return self.dP[at] end
  return where(cast(self.P[at], f32) == 0.0, 0.0,
    self.dP[at] * kind:keep_factor(self.args.operands))
end

-- P' and dS' while the products of S' and dP' are under way.
function Group:exponentiate(m, masked)
  local variant, S, dP = self.variant, self.S, self.dP
  wgmma_wait(1)
  local n = self.plan.own_rows // 8
  for j in range(n) do
    local tops = self:pair(self.smem.L(_, self.q.slot), j)
    each_of(j, function(at, i)
      if variant.score then
        self:weigh(at, m, tops[i], masked)
        return
      end
      S[at] = fast.exp2((masked and self:score(at, m) or S[at]) * self.args.c - tops[i])
    end)
  end
  if not has_two(variant.score) then copy(cast(S, variant.dtype), self.P) end
  wgmma_wait(0)
  for j in range(n) do
    local sums = self:pair(self.smem.D(_, self.o.slot), j)
    each_of(j, function(at, i) dP[at] = S[at] * (self:dP_at(at) - sums[i]) end)
  end
  copy(cast(dP, variant.dtype), self.dS)
end

-- dS', and P' by_depth, to shared memory, where all groups read them.
function Group:share_dS()
  if self.variant.by_depth then
    copy(self.plan.store_dS, self.copier:retile_S(self.P), self.to_P(_, _, _, self.slot.slot))
  end
  copy(self.plan.store_dS, self.copier:retile_S(self.dS), self.to_dS(_, _, _, self.slot.slot))
  fence_proxy_async()
  self.all:sync()
end

-- Piece i of a group's part of a tile's dQ; gdQ has the boxes of the head's sum.
local function piece_of(variant, plan, args, gdQ, number, m, i)
  local tile_of = packed.tile_at(args, m)
  if variant.by_rows then return gdQ(_, _, tile_of * variant.groups + number, 0) end
  return gdQ(_, _, tile_of, number * plan.parts + i)
end

-- The boxes of a head's sum of dQ.
local function pieces(plan, args, head)
  return boxes(args.dQ, {plan.rows, plan.columns})(_, _, _, _, head, args.batch)
end

-- Adds piece i of dQ by way of shared memory; the last addition may still read there.
function Group:add_dQ(gdQ, m, i)
  if self.turns then
    turns.hand_over(self.turns, function() copy(self.dQ, self.to_sum) end)
    return
  end
  if self.is_first then tma_store_wait(0) end
  self.together:sync()
  copy(self.dQ, self.to_sum)
  fence_proxy_async()
  self.together:sync()
  if self.is_first then
    tma_store(self.sum, piece_of(self.variant, self.plan, self.args, gdQ, self.number, m, i),
      {reduce = "add"})
    tma_store_commit()
  end
end

-- The products that need P' and dS' of all groups.
function Group:finish_step(gdQ, m)
  local plan, bars, slot, q, o = self.plan, self.bars, self.slot, self.q, self.o
  local P, dS = self.P_all(_, _, _, slot.slot), self.dS_all(_, _, _, slot.slot)
  self:share_dS()
  begin(plan.dKV, P, self.dOt(_, _, _, o.slot), self.dV)
  begin(plan.dQ, self.Kt[1], self.dSt(_, _, _, slot.slot), self.dQ, {accumulate = false})
  begin(plan.dKV, dS, self.Qt(_, _, _, q.slot), self.dK)
  wgmma_wait(2)
  if self.is_first then bars.dO_empty[o.slot]:arrive() end
  wgmma_wait(1)
  for i = 1, plan.parts do
    self:add_dQ(gdQ, m, i - 1)
    if i < plan.parts then
      begin(plan.dQ, self.Kt[i + 1], self.dSt(_, _, _, slot.slot), self.dQ, {accumulate = false})
    end
    if i == 1 then
      wgmma_wait(plan.parts > 1 and 1 or 0)
      if self.is_first then bars.Q_empty[q.slot]:arrive() end
    end
    if i < plan.parts then wgmma_wait(0) end
  end
  q:advance()
  o:advance()
  slot:advance()
end

function Group:step(gdQ, m, masked)
  local plan, bars, slot, q = self.plan, self.bars, self.slot, self.q
  bars.Q_full[q.slot]:wait(q.parity)
  begin(plan.KQ, self.K, self.Q(_, _, _, q.slot), self.S, {accumulate = false})
  local o = self.o
  bars.dO_full[o.slot]:wait(o.parity)
  begin(plan.KQ, self.V, self.dO(_, _, _, o.slot), self.dP, {accumulate = false})
  self:exponentiate(m, masked)
  if self.variant.by_depth then
    self:finish_step(gdQ, m)
    return
  end
  begin(plan.dKV, plan.dKV:retile_A(self.P, plan.KQ), self.dOt(_, _, _, q.slot), self.dV)
  self:share_dS()
  begin(plan.dQ, self.Kt[1], self.dSt(_, _, _, slot.slot), self.dQ, {accumulate = false})
  wgmma_wait(1)
  if self.is_first then bars.dO_empty[q.slot]:arrive() end
  begin(plan.dKV, plan.dKV:retile_A(self.dS, plan.KQ), self.Qt(_, _, _, q.slot), self.dK)
  wgmma_wait(1)
  self:add_dQ(gdQ, m, 0)
  wgmma_wait(0)
  if self.is_first then bars.Q_empty[q.slot]:arrive() end
  q:advance()
  slot:advance()
end

-- The same of a list.
function Group:each_listed_tile(gdQ, list)
  for i in range(list[0]) do self:step(gdQ, list[2 + i], true) end
  for i in range(list[0], list[0] + list[1]) do self:step(gdQ, list[2 + i], false) end
end

-- The same by masks and scores.
function Group:each_scored_tile(gdQ, first, last)
  local variant, args, kind = self.variant, self.args, self.variant.score
  local from, to = first, last
  if kind.is_scattered then
    to = first
  else
    local _, _, a, b = kind:queries(args.operands, self.first_key, self.first_key + KEYS, args)
    if a ~= nil then from = min(max(cdiv(max(a, 0), variant.rows), first), last) end
    if b ~= nil then to = min(max(max(b, 0) // variant.rows, from), last) end
    if not variant.is_whole then
      from = where(self.n_keys < KEYS, last, from)
      to = max(from, to)
    end
  end
  for m in range(first, from) do self:step(gdQ, m, true) end
  for m in range(from, to) do self:step(gdQ, m, false) end
  for m in range(to, last) do self:step(gdQ, m, true) end
end

-- The tiles of queries [first, last) of a head; those that do not see all of the group's keys come
-- first, or are all, where the group has keys behind the last.
function Group:each_tile(gdQ, first, last)
  local variant, args = self.variant, self.args
  if variant.score then
    self:each_scored_tile(gdQ, first, last)
    return
  end
  local n_masked = first
  if variant.causal then
    n_masked = min(max(cdiv(self.first_key - (args.n_k - args.n_q) + KEYS - 1, variant.rows),
      first), last)
  end
  if not variant.is_whole then n_masked = where(self.n_keys < KEYS, last, n_masked) end
  if variant.causal or not variant.is_whole then
    for m in range(first, n_masked) do self:step(gdQ, m, true) end
  end
  for m in range(n_masked, last) do self:step(gdQ, m, false) end
end

-- A tile of dK and one of dV, in shared memory, to global memory.
function Group:store_boxes()
  local variant, args = self.variant, self.args
  if self.is_first then
    local n, d = args.n * variant.groups + self.number, 0
    if variant.by_depth then n, d = args.n, self.number end
    local function store(t, s)
      tma_store(s, boxes(t, {KEYS, self.plan.own_depth}, args.k)(_, _, n, d, args.kv_head,
        args.batch))
    end
    store(args.dV, self.own_V)
    store(args.dK, self.own_K)
    tma_store_commit()
    tma_store_wait(0)
  end
end

-- The same where the rows behind the sequence's last are another's.
function Group:store_rows()
  local args, column = self.args, nil
  if self.variant.by_depth then column = self.number * self.plan.own_depth end
  local function store(t, s)
    packed.store_rows(t(_, _, args.kv_head, args.batch), s, args.k + self.first_key, self.n_keys,
      self.thread, GROUP, column)
  end
  store(args.dV, self.own_V)
  store(args.dK, self.own_K)
  if self.is_first then tma_store_wait(0) end -- that of dQ
end

-- The sums of dK and dV to the memory that held K and V, which no group reads any more, and out.
function Group:store()
  local variant, plan, args, dK, dV = self.variant, self.plan, self.args, self.dK, self.dV
  local copier = plan.store_dKV:get_slice(self.thread)
  for j in range(plan.own_depth // 8) do
    each_of(j, function(at) dK[at] = dK[at] * args.scale end)
  end
  self.all:sync()
  local function narrow(sums, s)
    copy(plan.store_dKV, copier:retile_S(cast(sums, variant.dtype)), copier:partition_D(s))
  end
  narrow(dV, self.own_V)
  narrow(dK, self.own_K)
  fence_proxy_async()
  self.together:sync()
  if variant.packed and self.n_keys < KEYS then
    self:store_rows()
  else
    self:store_boxes()
  end
end

local function multiply_all(variant, plan, args, smem, bars)
  local group = new_group(variant, plan, args, smem, bars)
  group.first_key = args.n * plan.keys + (variant.by_depth and 0 or group.number * KEYS)
  group.n_keys = args.n_k - group.first_key
  if variant.score then group.head = args.kv_head * args.group end
  clear(group.dK)
  clear(group.dV)
  bars.K_full[0]:wait(0)
  bars.V_full[0]:wait(0)
  each_head(variant, args, function(head, first, last, list)
    local gdQ = pieces(plan, args, head)
    if variant.score then group.head = head end
    if list ~= nil then
      group:each_listed_tile(gdQ, list)
    else
      group:each_tile(gdQ, first, last)
    end
  end)
  group:store()
end

-- {====== The warps that add dQ in turns ======

local function add_all(variant, plan, args, smem)
  local number = of_first_lane(threadIdx.x // WARP) - 1
  turns.add_all(variant, args, smem.sum, number, GROUP, function(f)
    each_head(variant, args, function(head, first, last, list)
      local gdQ = pieces(plan, args, head)
      for j in range(first, last) do
        local m = tile_in(list, j)
        for i = 0, plan.parts - 1 do
          f(head, m, { packed.tile_at(args, m), number * plan.parts + i },
            piece_of(variant, plan, args, gdQ, number, m, i))
        end
      end
    end)
  end)
end

-- {====== The kernels ======

-- What the block is told of its place in the problem.
local function place_of(variant, args)
  args.kv_head, args.batch = blockIdx.y, blockIdx.z
  if variant.packed then
    for key, value in pairs(packed.read(variant, args.blocks, blockIdx.x, of_first_lane)) do
      args[key] = value
    end
  else
    args.n_q, args.n_k, args.n = size(args.Q, 0), size(args.K, 0), blockIdx.x
    args.b = args.batch
    if variant.deterministic then args.n = gridDim.x - 1 - blockIdx.x end
  end
  return args
end

local function run_block(variant, plan, args)
  local dtype, stages, groups = variant.dtype, variant.stages, variant.groups
  args.keys = plan.keys
  args = place_of(variant, args)
  local smem = { K = shared(dtype, plan.KV), V = shared(dtype, plan.KV),
                 Q = shared(dtype, plan.QO), dO = shared(dtype, plan.dO),
                 dS = shared(dtype, plan.dS), sum = shared(f32, plan.sum),
                 L = shared(f32, plan.of_rows), D = shared(f32, plan.of_O_rows) }
  if variant.by_depth then smem.P = shared(dtype, plan.dS) end
  local bars = { K_full = mbarrier(1, 1), V_full = mbarrier(1, 1),
                 Q_full = mbarrier(stages, 1), Q_empty = mbarrier(stages, groups),
                 dO_full = mbarrier(plan.O_stages, 1),
                 dO_empty = mbarrier(plan.O_stages, groups) }
  if variant.packed then bars.part = mbarrier(1, 1) end
  sync_threads()
  if threadIdx.x < GROUP then
    setmaxnreg(variant.registers[1])
    if packed.is_loader(variant) then
      load_all(variant, plan, args, smem, bars)
    elseif variant.has_adders then
      if turns.is_one(variant) then add_all(variant, plan, args, smem) end
    end
  else
    setmaxnreg(variant.registers[2])
    multiply_all(variant, plan, args, smem, bars)
  end
end

-- What attention_blocks.lua asks for, if it is to list tiles: not where blocks take turns.
local function listed(variant)
  return { score = not variant.deterministic and variant.score or nil, rows = variant.rows,
           keys = keys_of(variant), packed = variant.packed, by_keys = true }
end

local function make_main(variant)
  local plan, name = plan_of(variant), "attention_backward_" .. variant.dtype.name
  if variant.score then
    return kernel(name, function(Q, K, V, dO, L, D, dQ, dK, dV, group, c, scale, blocks, counters,
                                 ...)
      local list, operands = blocks_of.split(listed(variant), ...)
      run_block(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ, dK = dK,
        dV = dV, group = group, c = c, scale = scale, blocks = blocks, turns = counters,
        list = list, operands = operands })
    end, {min_blocks = 1})
  elseif variant.packed or variant.deterministic then
    return kernel(name, function(Q, K, V, dO, L, D, dQ, dK, dV, group, c, scale, blocks, counters)
      run_block(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ, dK = dK,
        dV = dV, group = group, c = c, scale = scale, blocks = blocks, turns = counters })
    end, {min_blocks = 1})
  end
  return kernel(name, function(Q, K, V, dO, L, D, dQ, dK, dV, group, c, scale)
    run_block(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ, dK = dK,
      dV = dV, group = group, c = c, scale = scale })
  end, {min_blocks = 1})
end

-- A thread's WIDTH elements of dQ (S,D,H,B) in row `to`, from row `row` of the sum.
local function round_row(sum, dQ, scale, row, chunk, to)
  local x = fragment(f32, WIDTH)
  copy(tile(sum(row, _, blockIdx.y, blockIdx.z), {WIDTH}, {chunk}), x)
  axpby(scale, x, 0, x)
  copy(cast(x, dQ.dtype), tile(dQ(to, _, blockIdx.y, blockIdx.z), {WIDTH}, {chunk}))
end

local function make_last(variant)
  local name = "attention_backward_dQ"
  if variant.packed then
    return kernel(name, function(sum, dQ, scale, tiles)
      local i, chunks = blockIdx.x * THREADS + threadIdx.x, size(dQ, 1) // WIDTH
      local row, chunk = i // chunks, i % chunks
      if row < size(sum, 0) then
        local to, is_there = packed.row_of(tiles, row, variant.rows)
        if is_there then round_row(sum, dQ, scale, row, chunk, to) end
      end
    end)
  end
  return kernel(name, function(sum, dQ, scale)
    local i, chunks = blockIdx.x * THREADS + threadIdx.x, size(dQ, 1) // WIDTH
    local row, chunk = i // chunks, i % chunks
    if row < size(dQ, 0) then round_row(sum, dQ, scale, row, chunk, row) end
  end)
end

function M.make(variant) return { main = make_main(variant), last = make_last(variant) } end

-- {====== The launches ======

function M.plan(p, kernels, variant)
  local sum = rows_of.new_sum(p, variant.rows)
  local n_keys = keys_of(variant)
  local n_tiles, counters = rows_of.n_tiles(p, variant.rows), nil
  if p.deterministic then
    local n_parts = variant.groups * plan_of(variant).parts
    counters = rows_of.new(p, { n_tiles, n_parts, p.heads, p.batches }, i32)
  end
  local before, L, D = rows_of.step(p, variant.rows, WIDTH, sum, counters)
  local function mapped(t) return tma.mapped(t, 2) end
  local args = { mapped(p.Q), mapped(p.K), mapped(p.V), mapped(p.dO), L, D, mapped(sum),
                 mapped(p.dK), mapped(p.dV), p.heads // p.kv_heads, scores.factor(p),
                 f32(p.scale) }
  local n_blocks, of_last = cdiv(p.n_k, n_keys), { sum, p.dQ, f32(p.scale) }
  if p.sequences then
    local blocks = packed.blocks(p, "n_k", n_keys, variant.rows)
    n_blocks = size(blocks, 1)
    args[13], of_last[4] = blocks, packed.tiles(p, variant.rows)
  end
  if p.sequences or p.deterministic or p.score then
    args[13], args[14] = args[13] or L, counters or L
  end
  for _, x in ipairs { blocks_of.operands(p, listed(variant)) } do args[#args + 1] = x end
  return { before,
    { kernel = kernels.main,
      launch = { grid = { n_blocks, p.kv_heads, p.batches }, block = M.n_threads(variant),
                 stream = p.stream },
      args = args },
    { kernel = kernels.last,
      launch = { grid = { cdiv(size(sum, 0) * (p.depth // WIDTH), THREADS), p.heads, p.batches },
                 block = THREADS, stream = p.stream },
      args = of_last } }
end

return M
