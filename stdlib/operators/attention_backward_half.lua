-- attention_backward_half.lua: the first tile of queries of a group of
-- attention_backward_group.lua, where causal, if only the second half of them sees the group's
-- keys: that of all groups but a block's first. The group computes dP', P', dS' and its shares of
-- dV and dK of that half; dS' of the other one is 0. A tile has twice as many queries as a group
-- has keys, and groups share dQ by rows.
local M = {}

local KEYS <const> = 64 -- of a group

--- Are there such tiles?
function M.is_for(variant)
  return variant.causal and variant.by_rows and variant.rows == 2 * KEYS
end

--- What is known before the trace, nil: there are none. `kind` names the types of products, `store`
--- the copy of dS'.
function M.plan(variant, kind, store)
  if not M.is_for(variant) then return end
  local mma = tiled_mma(("SM90_64x%dx16_%s_SS"):format(variant.rows // 2, kind))
  return { mma = mma, rows = variant.rows // 2, store = tiled_copy_C(store, mma) }
end

local Half = {}
Half.__index = Half

--- The operands and results of a group whose tiles in shared memory are t.
function M.new(variant, plan, t, thread)
  local half = plan.half
  local rows, copier = half.rows, half.store:get_slice(thread)
  local kq, dkv = half.mma:get_slice(thread), plan.dK:get_slice(thread)
  local shape = half.mma:partition_shape_C{KEYS, rows}
  local function columns_of(s)
    return dkv:partition_B(tile(s, {size(s, 0), rows, size(s, 2)}, {0, 1, 0}))
  end
  local function to_dS(i)
    return copier:partition_D(tile(t.to_dS, {KEYS, rows, size(t.to_dS, 2)}, {0, i, 0}))
  end
  return setmetatable({ variant = variant, plan = half, copier = copier, V = kq:partition_A(t.V),
    dO = kq:partition_B(tile(t.dO, {rows, size(t.dO, 1), size(t.dO, 2)}, {1, 0, 0})),
    dP = fragment(f32, shape), P = fragment(variant.dtype, shape),
    dS = fragment(variant.dtype, shape), Qt = columns_of(t.Qt), dOt = columns_of(t.dOt),
    hidden = to_dS(0), seen = to_dS(1) }, Half)
end

--- dP' of the tile in dO's slot is under way.
function Half:begin_dP(begin, slot)
  begin(self.plan.mma, self.V, self.dO(_, _, _, slot), self.dP, {accumulate = false})
end

-- Calls f(place, place in the tile, number of the column of two) for the thread's elements in
-- group j of 8 columns.
local function each_of(n, j, f)
  for r = 0, 1 do
    for i = 0, 1 do f({{i, r, j}, 0, 0}, {{i, r, n + j}, 0, 0}, i) end
  end
end

--- P' and dS' of the group's tile m, as Group:exponentiate.
function Half:exponentiate(group, m)
  local S, n = group.S, self.plan.rows // 8
  wgmma_wait(1)
  group:weigh_all(m, true, n)
  for j in range(n) do
    each_of(n, j, function(at, of) self.P[at] = cast(S[of], self.variant.dtype) end)
  end
  wgmma_wait(0)
  for j in range(n) do
    local sums = group:pair(group.smem.D(_, group.o.slot), n + j)
    each_of(n, j, function(at, of, i) self.dP[at] = S[of] * (self.dP[at] - sums[i]) end)
  end
  copy(cast(self.dP, self.variant.dtype), self.dS)
end

--- dS' to a slot of shared memory.
function Half:write_dS(slot)
  local zero = fragment(self.variant.dtype, self.dS.layout)
  clear(zero)
  copy(self.plan.store, self.copier:retile_S(zero), self.hidden(_, _, _, slot))
  copy(self.plan.store, self.copier:retile_S(self.dS), self.seen(_, _, _, slot))
end

--- Of tiles of queries from `first` on, is the first one such a tile?
function M.begins(variant, args, first_key, first)
  return (first_key - (args.n_k - args.n_q)) // KEYS > variant.rows // KEYS * first
end

return M
