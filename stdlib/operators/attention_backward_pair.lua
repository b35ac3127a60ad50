-- attention_backward_pair.lua: blocks of attention_backward_hopper.lua in pairs, by_depth. Two
-- blocks of a cluster have neighbouring tiles of keys, and go through the same tiles of queries.
-- Each sends its dS' to the other, and computes dQ of the keys of both, but of half of the depth.
-- So half as much is added to dQ, and half as much of it goes through shared memory. A block also
-- has the other's keys, of its half of the depth. The warp that neither loads nor adds sends.
--   There is shared memory for one dS' and one of the other block; P' is where parts of dQ are
-- later. A group writes P' and dS' of a tile when
--   - the other group's part of the last dQ has been read: so it is done with the last P' and dS';
--   - the other block is done with the last dS' that was sent, and so all of it has been read.
--   `late`, a step computes dQ of the tile before: the other block's dS' has come by then, and dQ
-- is handed over while dK is computed. There are two slots of dS' and of the other block's, and P'
-- has memory of its own. A group writes P' and dS' of a tile when
--   - the other group is done with the last P';
--   - both blocks are done with dS' of two tiles before.
local tiles = require "cuttle.attention_backward_tiles"
local turns = require "cuttle.attention_backward_turns"
local of_first_lane = tiles.of_first_lane
local M = {}

local WARP <const>, GROUP <const> = 32, 128
local SENDS <const> = 3 -- the warp
local FIRST_BARRIER <const> = 8 -- those before are the kernel's and the adders'

--- Are there pairs?
function M.is_for(p, config)
  return (config.pair and not (p.deterministic or p.sequences or p.score)) and true or false
end

--- So many tiles of keys, rounded up to whole pairs.
function M.rounded(n) return cdiv(n, tiles.PAIR) * tiles.PAIR end

-- {====== In a kernel ======

--- Shared memory for the other block: its keys, and dS'.
function M.add_memory(variant, plan, smem)
  smem.K_other = shared(variant.dtype, plan.K_other)
  smem.sent_dS = shared(variant.dtype, layout(size(plan.dS)))
  smem.dS_other = view(smem.sent_dS, plan.dS)
end

--- Barriers: dS' of the other block has come; the other block is done with that of this one.
function M.add_bars(bars, slots)
  bars.dS_full, bars.dS_empty = mbarrier(slots, 1), mbarrier(slots, 1)
end

-- Named barriers: P' and dS' of both groups are there; both are done with the dS' that has come;
-- group `number` may write again; late, the other one has read its P'.
local function barriers_of(variant)
  local n = variant.groups * GROUP
  return { shared = named_barrier(FIRST_BARRIER, n + WARP),
           done = named_barrier(FIRST_BARRIER + 1, n + WARP),
           sent = function(number)
             return named_barrier(FIRST_BARRIER + 2 + number, GROUP + WARP)
           end,
           read = function(number)
             return named_barrier(FIRST_BARRIER + 2 + variant.groups + number, 2 * GROUP)
           end }
end

-- {====== A group that multiplies ======

local Joined = {}
Joined.__index = Joined

--- What group `group` has of the other block: keys of its part of dQ, and dS'.
function M.join(variant, plan, smem, bars, group)
  local part, number, named = group.part, group.number, barriers_of(variant)
  local Kt = tile(select(smem.K_other, 1, 0), {plan.columns, plan.keys}, {number, 0})
  local self = { Kt = part:of_keys(Kt), late = variant.late,
    dSt = part:of_scores(select(smem.dS_other, 1, 0, 2)),
    full = bars.dS_full, state = pipeline_state(plan.slots),
    is_one = group.is_first and number == 0,
    bytes = size(plan.dS) // plan.slots * variant.dtype.bits // 8, shared = named.shared,
    done = named.done, sent = named.sent(number), read = named.read(number),
    has_read = named.read(1 - number), others = turns.barriers(variant, 1 - number, GROUP) }
  setmetatable(self, Joined)
  for slot = 0, plan.slots - 1 do self:expect(slot) end
  if variant.late then self.has_read:arrive() end
  return self
end

-- dS' will come to a slot.
function Joined:expect(slot)
  if self.is_one then self.full[slot]:arrive_expect_tx(self.bytes) end
end

--- dS' of the other block is there, in the slot that is returned.
function Joined:await_dS()
  local slot = self.state.slot
  self.full[slot]:wait(self.state.parity)
  self.state:advance()
  self:expect(slot)
  return slot
end

--- The group may write P' and dS'.
function Joined:await_place()
  if self.late then self.read:sync() else self.others.empty:sync() end
  self.sent:sync()
end

-- The last product of dK, and S' of the next tile, run while dQ is handed over.
local function hand_over_early(group, begin, own)
  local other = group.other
  begin(group.plan.dK, other.dS(_, _, _, 0), other.Qt(_, _, _, own), group.dK)
  group:begin_next_scores()
  wgmma_wait(2)
  group:hand_over_dQ()
  wgmma_wait(1)
  group.joined.done:arrive()
  group:release_Q(own, group.left)
  wgmma_wait(0)
end

-- The same where S' is not ahead: all products first.
local function hand_over_late(group, own)
  wgmma_wait(2)
  group:release_Q(own, group.left - 1)
  group.q:advance()
  wgmma_wait(0)
  group.joined.done:arrive()
  group:hand_over_dQ()
  wgmma_wait(0)
end

--- The products of a group's step that need P' and dS' of all groups, by begin(mma, A, B, C): dQ of
--- the own keys, and that of the other block's when dS' has come.
function M.finish_step(group, begin)
  local plan, o, joined, other = group.plan, group.o, group.joined, group.other
  local own, ahead = group.q.slot, group.variant.ahead
  begin(plan.own_dV, plan.own_dV:retile_A(group.P, plan.KQ), group.dOt(_, _, _, o.slot), group.dV)
  group:share_dS()
  begin(plan.dV, other.P(_, _, _, 0), other.dOt(_, _, _, o.slot), group.dV)
  if ahead then
    begin(plan.own_dK, plan.own_dK:retile_A(group.dS, plan.KQ), group.Qt(_, _, _, own), group.dK)
  else
    group:begin_dK()
  end
  group.part:begin(group.Kt[1], group.dSt(_, _, _, 0), {accumulate = false})
  wgmma_wait(2)
  if group.is_first then group.bars.dO_empty[o.slot]:arrive() end
  group.part:begin(joined.Kt, joined.dSt(_, _, _, joined:await_dS()))
  if ahead then hand_over_early(group, begin, own) else hand_over_late(group, own) end
  o:advance()
end

-- {====== dQ one tile late ======

-- dQ of the tile before is under way.
local function begin_late_dQ(group)
  local joined = group.joined
  local slot = joined:await_dS()
  group.part:begin(group.Kt[1], group.dSt(_, _, _, slot), {accumulate = false})
  group.part:begin(joined.Kt, joined.dSt(_, _, _, slot))
end

-- is_first: there is no tile before.
local function late_step(group, m, masked, is_first)
  local plan, bars, q, o, joined = group.plan, group.bars, group.q, group.o, group.joined
  local other = group.other
  bars.Q_full[q.slot]:wait(q.parity)
  group:begin_scores(q.slot)
  bars.dO_full[o.slot]:wait(o.parity)
  group:begin_dP(o.slot)
  group:exponentiate(m, masked)
  group:share_dS()
  wgmma_fence()
  gemm(plan.own_dV, plan.own_dV:retile_A(group.P, plan.KQ), group.dOt(_, _, _, o.slot), group.dV)
  gemm(plan.dV, other.P(_, _, _, 0), other.dOt(_, _, _, o.slot), group.dV)
  wgmma_commit()
  if not is_first then begin_late_dQ(group) end
  group:begin_dK()
  if not is_first then
    wgmma_wait(1)
    joined.done:arrive()
    group:hand_over_dQ()
  end
  wgmma_wait(1)
  if group.is_first then bars.dO_empty[o.slot]:arrive() end
  joined.has_read:arrive()
  wgmma_wait(0)
  if group.is_first then bars.Q_empty[q.slot]:arrive() end
  group.slot:advance()
  q:advance()
  o:advance()
end

-- dQ of a head's last tile. The warp that sends waits for `done` of one tile at a time.
local function finish_head(group)
  begin_late_dQ(group)
  wgmma_wait(0)
  group.joined.sent:sync()
  group.joined.done:arrive()
  group:hand_over_dQ()
end

--- The tiles of queries [first, last) of a head, of which those before n_masked are masked.
function M.each_late_tile(group, first, n_masked, last)
  local variant = group.variant
  local has_masks = variant.causal or not variant.is_whole
  if first < last then
    late_step(group, first, has_masks, true)
    local from = max(n_masked, first + 1)
    if has_masks then
      for m in range(first + 1, from) do late_step(group, m, true) end
    end
    for m in range(from, last) do late_step(group, m, false) end
    finish_head(group)
  end
end

-- {====== The warp that sends ======

--- Is the thread of the warp that sends?
function M.is_sender() return threadIdx.x // WARP == SENDS end

--- The warp that sends.
function M.send_all(variant, plan, args, smem, bars)
  local named, other = barriers_of(variant), 1 - of_first_lane(cluster_rank())
  local at, state = pipeline_state(plan.slots), pipeline_state(plan.slots)
  local is_first, n = threadIdx.x % WARP == 0, size(plan.dS) // plan.slots
  local function let_write()
    for i = 0, variant.groups - 1 do named.sent(i):arrive() end
  end
  local function await_both()
    named.done:sync()
    if is_first then bars.dS_empty[state.slot]:arrive(other) end
    bars.dS_empty[state.slot]:wait(state.parity)
    state:advance()
  end
  let_write()
  tiles.each_head(variant, args, function(_, first, last)
    for m in range(first, last) do
      named.shared:sync()
      if is_first then
        tma_store(tile(smem.own_dS, {n}, {at.slot}), tile(smem.sent_dS, {n}, {at.slot}),
          bars.dS_full[at.slot], other)
      end
      at:advance()
      if variant.late then
        if m > first then await_both() end
      else
        await_both()
      end
      let_write()
    end
    if variant.late then
      if first < last then
        await_both()
        let_write()
      end
    end
  end)
end

return M
