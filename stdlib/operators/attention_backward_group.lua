-- attention_backward_group.lua: a warp group of attention_backward_hopper.lua that multiplies: P'
-- and dS' of a tile of queries, its sums of dK and dV, and its part of dQ.
local half_of = require "cuttle.attention_backward_half"
local packed = require "cuttle.attention_backward_packed"
local pair = require "cuttle.attention_backward_pair"
local part_of = require "cuttle.attention_backward_part"
local tail = require "cuttle.attention_backward_tail"
local tiles = require "cuttle.attention_backward_tiles"
local turns = require "cuttle.attention_backward_turns"
local walk = require "cuttle.attention_backward_walk"
local boxes, of_first_lane = tiles.boxes, tiles.of_first_lane
local each_head = tiles.each_head
local M = {}

local GROUP <const>, KEYS <const> = 128, 64 -- threads of a group; keys of its tile
local COLUMNS <const> = 64 -- of depth in a factor, where there are several

local Group = {}
Group.__index = Group

-- The first `columns` of keys in registers, as factors_of has it. `copy` fills them.
local function held_of(variant, plan, thread, columns, keys, queries)
  local reader = plan.read:get_slice(thread)
  local A = fragment(variant.dtype, plan.held:partition_shape_A{KEYS, columns})
  return { A, plan.held:get_slice(thread):partition_B(queries), mma = plan.held,
           from = reader:partition_S(keys), to = reader:retile_D(A) }
end

-- What the products of keys and queries multiply: {A, B} of all of the depth or, where `depth` of
-- it are not 0 by_depth, of some columns each. A of the first `held` ones is in registers, nil:
-- none, and their product has its own tiled MMA.
local function factors_of(variant, plan, thread, keys, queries, stages, depth, held)
  local kq, list = plan.KQ:get_slice(thread), {}
  depth = depth or size(keys, 1)
  if not held and depth == size(keys, 1) then
    return { { kq:partition_A(keys), kq:partition_B(queries) } }
  end
  local function columns_of(i, width)
    return tile(keys, {KEYS, width}, {0, i}),
      tile(queries, {plan.own_rows, width, stages}, {0, i, 0})
  end
  if held then list[1] = held_of(variant, plan, thread, held, columns_of(0, held)) end
  local width = held and held % COLUMNS ~= 0 and COLUMNS // 2 or COLUMNS
  for i = (held or 0) // width, depth // width - 1 do
    local own_keys, own_queries = columns_of(i, width)
    list[#list + 1] = { kq:partition_A(own_keys), kq:partition_B(own_queries) }
  end
  return list
end

local function new_group(variant, plan, args, smem, bars)
  local number, thread = of_first_lane(threadIdx.x // GROUP) - 1, threadIdx.x % GROUP
  local kq, part = plan.KQ:get_slice(thread), part_of.new(plan, smem.sum(_, _, number), thread)
  local t, by_depth = tiles.of_group(variant, plan, smem, number), variant.by_depth
  local of_dK, of_dV = plan.dK:get_slice(thread), plan.dV:get_slice(thread)
  local of_scores = plan.KQ:partition_shape_C{KEYS, plan.own_rows}
  local copier = plan.store_dS:get_slice(thread)
  local self = { variant = variant, plan = plan, args = args, smem = smem, bars = bars,
    number = number, thread = thread, is_first = thread == 0,
    own_K = variant.stay and smem.dK(_, _, number) or t.own_K,
    own_V = variant.stay and smem.dV(_, _, number) or t.own_V,
    first_row = by_depth and number * plan.own_rows or 0,
    KQ = factors_of(variant, plan, thread, t.K, t.Q, variant.stages, variant.read_k,
      variant.held_keys),
    VdO = factors_of(variant, plan, thread, t.V, t.dO, plan.O_stages, variant.read_v,
      variant.held),
    S = fragment(f32, of_scores), dP = fragment(f32, of_scores),
    P = fragment(variant.dtype, of_scores), dS = fragment(variant.dtype, of_scores),
    dK = fragment(f32, plan.dK:partition_shape_C{KEYS, plan.own_depth}),
    dV = fragment(f32, plan.dV:partition_shape_C{KEYS, plan.own_depth_v}),
    places = kq:partition_C(identity_tensor{KEYS, plan.own_rows}), copier = copier,
    to_dS = copier:partition_D(t.to_dS), part = part, Kt = {}, dSt = part:of_scores(t.dSt),
    q = pipeline_state(variant.stages), slot = pipeline_state(plan.slots),
    left = i32(0), -- tiles, where the scores of the next one are computed ahead
    all = named_barrier(1, variant.groups * GROUP), together = named_barrier(2 + number, GROUP),
    turns = turns.barriers(variant, number, GROUP) }
  if plan.half then self.half = half_of.new(variant, plan, t, thread) end
  for i, columns in ipairs(t.Kt) do self.Kt[i] = part:of_keys(columns) end
  self.o = by_depth and pipeline_state(plan.O_stages) or self.q
  if by_depth then
    self.to_P = copier:partition_D(t.to_P)
    if variant.pair then self.joined = pair.join(variant, plan, smem, bars, self) end
    local other = t.other
    self.dOt = plan.own_dV:get_slice(thread):partition_B(t.mine.dOt)
    self.Qt = plan.own_dK:get_slice(thread):partition_B(t.mine.Qt)
    self.other = { P = of_dV:partition_A(other.P), dS = of_dK:partition_A(other.dS),
                   dOt = of_dV:partition_B(other.dOt), Qt = of_dK:partition_B(other.Qt) }
  else
    self.dOt, self.Qt = of_dV:partition_B(t.dOt), of_dK:partition_B(t.Qt)
  end
  return setmetatable(self, Group)
end

-- A product that is under way until wgmma_wait.
local function begin(mma, A, B, C, options)
  wgmma_fence()
  gemm(mma, A, B, C, options)
  wgmma_commit()
end

-- Products of factors whose B are in the slot of a ring replace C. They are under way until
-- wgmma_wait.
local function begin_factors(mma, factors, slot, C)
  wgmma_fence()
  for i, factor in ipairs(factors) do
    gemm(factor.mma or mma, factor[1], factor[2](_, _, _, slot), C, {accumulate = i > 1})
  end
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

-- The query and the key of an element, as attention_score.lua takes them.
function Group:place(at, m)
  local args, place = self.args, self.places[at]
  return { q = place[2] + self.first_row + m * self.variant.rows, k = place[1] + self.first_key,
    h = self.head, b = args.b, n_q = args.n_q, n_k = args.n_k }
end

-- P' of the thread's elements by masks and scores; S becomes P' times the derivative of the scores,
-- of which none is dropped. `word`: that of Philox, if some are dropped.
function Group:weigh(at, m, top, masked, word)
  local args, kind = self.args, self.variant.score
  local place = self:place(at, m)
  local s, slope = kind:element_and_gradient(args.operands, self.S[at], place, args.c, masked)
  local p = fast.exp2(s * kind:factor(args.c) - top)
  self.S[at] = slope ~= nil and p * slope or p
  if kind.drops then p = p * kind:kept_factor(args.operands, place, word) end
  if has_two(kind) then self.P[at] = cast(p, self.variant.dtype) end
end

-- The same of all elements of a tile, where some are dropped: those of a square together.
function Group:weigh_squares(m, masked)
  local kind, operands = self.variant.score, self.args.operands
  for j in range(self.plan.own_rows // 16) do
    local tops = {}
    for half = 0, 1 do tops[half] = self:pair(self.smem.L(_, self.q.slot), 2 * j + half) end
    for i = 0, 1 do
      local words = kind:square(operands, self:place({{i, 0, 2 * j}, 0, 0}, m))
      for n = 0, 3 do
        local half = n // 2
        self:weigh({{i, n % 2, 2 * j + half}, 0, 0}, m, tops[half][i], masked, words[n + 1])
      end
    end
  end
end

-- P' of a tile, in S, or in P where S becomes something else. first: group of 8 columns, nil: 0.
function Group:weigh_all(m, masked, first)
  local kind, S = self.variant.score, self.S
  if kind and kind.drops then
    self:weigh_squares(m, masked)
    return
  end
  for j in range(first or 0, self.plan.own_rows // 8) do
    local tops = self:pair(self.smem.L(_, self.q.slot), j)
    each_of(j, function(at, i)
      if kind then
        self:weigh(at, m, tops[i], masked)
        return
      end
      S[at] = fast.exp2((masked and self:score(at, m) or S[at]) * self.args.c - tops[i])
    end)
  end
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
  self:weigh_all(m, masked)
  if not has_two(variant.score) then copy(cast(S, variant.dtype), self.P) end
  wgmma_wait(0)
  for j in range(self.plan.own_rows // 8) do
    local sums = self:pair(self.smem.D(_, self.o.slot), j)
    each_of(j, function(at, i) dP[at] = S[at] * (self:dP_at(at) - sums[i]) end)
  end
  copy(cast(dP, variant.dtype), self.dS)
end

-- dS', and P' by_depth, to shared memory, where all groups read them. half: of half of a tile.
function Group:share_dS(half)
  local variant, plan, copier, slot = self.variant, self.plan, self.copier, self.slot.slot
  if variant.pair then self.joined:await_place() end
  if variant.by_depth then
    copy(plan.store_dS, copier:retile_S(self.P), self.to_P(_, _, _, variant.late and 0 or slot))
  end
  if half then
    half:write_dS(slot)
  else
    copy(plan.store_dS, copier:retile_S(self.dS), self.to_dS(_, _, _, slot))
  end
  fence_proxy_async()
  if variant.pair then self.joined.shared:sync() else self.all:sync() end
end

-- A piece of dQ goes to the warp that adds it, by way of shared memory. `behind` is called when
-- dQ's registers are free.
function Group:hand_over_dQ(behind)
  turns.hand_over(self.variant, self.turns, function()
    self.part:store()
    if behind then behind() end
  end)
end

-- dP' of the tile in dO's slot is under way.
function Group:begin_dP(slot)
  begin_factors(self.plan.KQ, self.VdO, slot, self.dP)
end

-- S' of the tile in Q's slot is under way.
function Group:begin_scores(slot)
  begin_factors(self.plan.KQ, self.KQ, slot, self.S)
end

-- The same of the next tile. Behind the last one that one comes again, so that the number of
-- products that are under way is known.
function Group:begin_next_scores()
  local q, slot = self.q, self.q.slot
  self.left = self.left - 1
  q:advance()
  if self.left > 0 then self.bars.Q_full[q.slot]:wait(q.parity) end
  self:begin_scores(where(self.left > 0, q.slot, slot))
end

-- Q's slot is free. But where blocks stay, that of the last tile is not, as its scores are computed
-- again, until `at_end`. left: the tiles that are left, then.
function Group:release_Q(slot, left, at_end)
  local is_first, again = self.is_first, self.variant.stay and self.variant.ahead
  if again then
    local is_now
    if at_end then is_now = left == 0 else is_now = left > 0 end
    if is_first and is_now then self.bars.Q_empty[slot]:arrive() end
  elseif not at_end and is_first then
    self.bars.Q_empty[slot]:arrive()
  end
end

-- dK of a tile, by depth.
function Group:begin_dK()
  local plan, slot, q, other = self.plan, self.slot.slot, self.q.slot, self.other
  wgmma_fence()
  gemm(plan.own_dK, plan.own_dK:retile_A(self.dS, plan.KQ), self.Qt(_, _, _, q), self.dK)
  gemm(plan.dK, other.dS(_, _, _, slot), other.Qt(_, _, _, q), self.dK)
  wgmma_commit()
end

-- The products that need P' and dS' of all groups. S' of the next tile runs while dQ is added.
function Group:finish_step()
  local plan, bars, slot, q, o = self.plan, self.bars, self.slot, self.q, self.o
  local other = self.other
  begin(plan.own_dV, plan.own_dV:retile_A(self.P, plan.KQ), self.dOt(_, _, _, o.slot), self.dV)
  self:share_dS()
  begin(plan.dV, other.P(_, _, _, slot.slot), other.dOt(_, _, _, o.slot), self.dV)
  self.part:begin(self.Kt[1], self.dSt(_, _, _, slot.slot), {accumulate = false})
  self:begin_dK()
  wgmma_wait(2)
  if self.is_first then bars.dO_empty[o.slot]:arrive() end
  wgmma_wait(1)
  local own
  for i = 1, plan.parts do
    self:hand_over_dQ()
    if i < plan.parts then
      self.part:begin(self.Kt[i + 1], self.dSt(_, _, _, slot.slot), {accumulate = false})
    end
    if i == 1 then
      wgmma_wait(plan.parts > 1 and 1 or 0)
      own = q.slot
      self:release_Q(own, self.left - 1)
      if self.variant.ahead then self:begin_next_scores() else q:advance() end
    end
    if i < plan.parts then wgmma_wait((i == 1 and self.variant.ahead) and 1 or 0) end
  end
  wgmma_wait(0)
  self:release_Q(own, self.left, true)
  o:advance()
  slot:advance()
end

-- half: nil, or that of attention_backward_half.lua, for such a tile.
function Group:step(m, masked, half)
  local plan, bars, slot, q, o = self.plan, self.bars, self.slot, self.q, self.o
  if not self.variant.ahead then
    bars.Q_full[q.slot]:wait(q.parity)
    self:begin_scores(q.slot)
  end
  bars.dO_full[o.slot]:wait(o.parity)
  if half then
    half:begin_dP(begin, o.slot)
    half:exponentiate(self, m)
  else
    self:begin_dP(o.slot)
    self:exponentiate(m, masked)
  end
  if self.variant.pair then
    pair.finish_step(self, begin)
    return
  elseif self.variant.by_depth then
    self:finish_step()
    return
  end
  local own, KQ = half or self, half and plan.half.mma or plan.KQ
  begin(plan.dV, plan.dV:retile_A(own.P, KQ), own.dOt(_, _, _, q.slot), self.dV)
  self:share_dS(half)
  self.part:begin(self.Kt[1], self.dSt(_, _, _, slot.slot), {accumulate = false})
  wgmma_wait(1)
  if self.is_first then bars.dO_empty[q.slot]:arrive() end
  begin(plan.dK, plan.dK:retile_A(own.dS, KQ), own.Qt(_, _, _, q.slot), self.dK)
  wgmma_wait(1)
  if self.variant.ahead then
    local last = q.slot
    self:hand_over_dQ(function() self:begin_next_scores() end)
    wgmma_wait(1)
    self:release_Q(last, self.left)
    wgmma_wait(0)
    self:release_Q(last, self.left, true)
    slot:advance()
    return
  end
  self:hand_over_dQ()
  wgmma_wait(0)
  if self.is_first then bars.Q_empty[q.slot]:arrive() end
  q:advance()
  slot:advance()
end

-- The same of a tile that sees none of the group's keys, while the other group computes.
function Group:hidden_step()
  local bars, slot, q = self.bars, self.slot, self.q
  bars.dO_full[q.slot]:wait(q.parity)
  if self.is_first then
    bars.dO_empty[q.slot]:arrive()
    bars.Q_empty[q.slot]:arrive()
  end
  clear(self.dS)
  self:share_dS()
  self.part:begin(self.Kt[1], self.dSt(_, _, _, slot.slot), {accumulate = false})
  wgmma_wait(0)
  self:hand_over_dQ()
  q:advance()
  slot:advance()
end

-- The same of a list.
function Group:each_listed_tile(list)
  for i in range(list[0]) do self:step(list[2 + i], true) end
  for i in range(list[0], list[0] + list[1]) do self:step(list[2 + i], false) end
end

-- The same by masks and scores.
function Group:each_scored_tile(first, last)
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
  for m in range(first, from) do self:step(m, true) end
  for m in range(from, to) do self:step(m, false) end
  for m in range(to, last) do self:step(m, true) end
end

-- The tiles of queries [first, last) of a head; those that do not see all of the group's keys come
-- first, or are all, where the group has keys behind the last.
function Group:each_tile(first, last)
  local variant, args = self.variant, self.args
  if variant.score then
    self:each_scored_tile(first, last)
    return
  end
  local n_masked = first
  if variant.causal then
    n_masked = min(max(cdiv(self.first_key - (args.n_k - args.n_q) + KEYS - 1, variant.rows),
      first), last)
  end
  if not variant.is_whole then n_masked = where(self.n_keys < KEYS, last, n_masked) end
  if variant.late then
    pair.each_late_tile(self, first, n_masked, last)
    return
  end
  local from = first
  if variant.causal and self.plan.hides then
    local n_hidden = (self.first_key - (args.n_k - args.n_q)) // variant.rows
    from = min(max(n_hidden, first), n_masked)
    for _ in range(first, from) do self:hidden_step() end
  end
  if self.half then
    if first < last and half_of.begins(variant, args, self.first_key, first) then
      self:step(first, true, self.half)
      from = first + 1
    end
    n_masked = max(n_masked, from)
  end
  if variant.causal or not variant.is_whole then
    for m in range(from, n_masked) do self:step(m, true) end
  end
  for m in range(n_masked, last) do self:step(m, false) end
end

-- A tile of dK and one of dV, in shared memory, to global memory.
function Group:store_boxes(own_K, own_V)
  local variant, args = self.variant, self.args
  if self.is_first then
    local n, d = args.n * variant.groups + self.number, 0
    if variant.by_depth then n, d = args.n, self.number end
    local function store(t, s)
      tma_store(s, boxes(t, {KEYS, size(s, 1)}, args.k)(_, _, n, d, args.kv_head, args.batch))
    end
    store(args.dV, own_V)
    store(args.dK, own_K)
    tma_store_commit()
    if not variant.stay then tma_store_wait(0) end
  end
end

-- The same where the rows behind the sequence's last are another's.
function Group:store_rows()
  local args = self.args
  local function store(t, s)
    local column = self.variant.by_depth and self.number * size(s, 1) or nil
    packed.store_rows(t(_, _, args.kv_head, args.batch), s, args.k + self.first_key, self.n_keys,
      self.thread, GROUP, column)
  end
  store(args.dV, self.own_V)
  store(args.dK, self.own_K)
end

-- The sums of dK and dV to the memory that held K and V, which no group reads any more, and out.
function Group:store()
  local variant, plan, args, dK, dV = self.variant, self.plan, self.args, self.dK, self.dV
  for j in range(plan.own_depth // 8) do
    each_of(j, function(at) dK[at] = dK[at] * args.scale end)
  end
  if variant.stay then self:leave_tile() end
  if variant.tail then
    if args.n_parts > 1 then
      tail.store(variant, plan, args, self.thread, self.number, dK, dV)
    else
      self:store_whole()
    end
  else
    self:store_whole()
  end
end

-- What the last tile's sums go out through is free again, in all groups.
function Group:await_stores()
  if self.is_first then tma_store_wait(0) end
  self.all:sync()
end

-- K and V are free for the next tile, and parts of dQ are no longer read.
function Group:leave_tile()
  if self.is_first then
    self.bars.V_empty[0]:arrive()
    self.bars.K_empty[0]:arrive()
  end
  self.turns.empty:sync()
  self.turns.free:arrive()
end

-- The same of a block that is not cut.
function Group:store_whole()
  local variant, plan, dK, dV = self.variant, self.plan, self.dK, self.dV
  self.all:sync()
  local function narrow(store, sums, s)
    local copier = store:get_slice(self.thread)
    copy(store, copier:retile_S(cast(sums, variant.dtype)), copier:partition_D(s))
  end
  narrow(plan.store_dV, dV, self.own_V)
  narrow(plan.store_dK, dK, self.own_K)
  fence_proxy_async()
  self.together:sync()
  if variant.packed and self.n_keys < KEYS then
    self:store_rows()
  else
    self:store_boxes(self.own_K, self.own_V)
  end
end

-- What the factors have in registers.
function Group:hold(factors)
  if factors[1].from then copy(self.plan.read, factors[1].from, factors[1].to) end
end

-- A block's tile of keys.
function Group:tile(args)
  local variant, bars, kv = self.variant, self.bars, self.kv
  self.args = args
  self.first_key = args.n * self.plan.keys + (variant.by_depth and 0 or self.number * KEYS)
  self.n_keys = args.n_k - self.first_key
  if variant.score then self.head = args.kv_head * args.group end
  clear(self.dK)
  clear(self.dV)
  bars.K_full[0]:wait(kv and kv.parity or 0)
  if not variant.pair then bars.V_full[0]:wait(kv and kv.parity or 0) end
  if kv then
    kv:advance()
    self:await_stores()
  end
  self:hold(self.KQ)
  if not variant.pair then self:hold(self.VdO) end
  local function multiply()
    each_head(variant, args, function(head, first, last, list)
      if variant.score then self.head = head end
      if list ~= nil then
        self:each_listed_tile(list)
      else
        self:each_tile(first, last)
      end
    end)
  end
  if variant.ahead or variant.pair then
    each_head(variant, args, function(_, first, last)
      self.left = self.left + max(last - first, 0)
    end)
    if self.left > 0 then
      if variant.ahead then
        local slot, parity = 0, 0
        if kv then slot, parity = self.q.slot, self.q.parity end
        bars.Q_full[slot]:wait(parity)
        self:begin_scores(slot)
      end
      if variant.pair then -- V is loaded after the first queries
        bars.V_full[0]:wait(0)
        self:hold(self.VdO)
      end
      if variant.ahead then wgmma_wait(0) end
      multiply()
    end
  else
    multiply()
  end
  self:store()
end

function M.multiply_all(variant, plan, args, smem, bars)
  local group = new_group(variant, plan, args, smem, bars)
  if not variant.stay then
    group:tile(args)
    return
  end
  group.kv = pipeline_state(1)
  walk.each_told_tile(variant, args, smem.numbers, function(own)
    setmetatable({ left = i32(0) }, { __index = group }):tile(own)
  end)
  if group.is_first then tma_store_wait(0) end
end

return M
