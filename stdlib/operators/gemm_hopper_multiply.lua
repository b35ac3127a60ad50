-- gemm_hopper_multiply.lua: how a warp group of gemm_hopper.lua makes the sums of a tile of C: it
-- waits for a slot of the ring, multiplies it by wgmma, and says that the slot is empty. `plan` and
-- `block` are gemm_hopper.lua's, and fetch() asks for what C holds.
local turn = require "cuttle.gemm_hopper_turn"
local M = {}

local GROUP <const>, WARP <const> = 128, 32 -- threads of a warp group, and of a warp
local FETCH_STEP <const> = 2 -- of K, in which what C holds is asked for

--- A slot that a group has read is empty, in all blocks that filled it.
function M.release(plan, block, slot)
  local i = threadIdx.x % GROUP
  if plan.by_warps then
    sync_warp() -- each lane has read for itself
    i = i % WARP
  end
  if plan.high == 1 then
    if i == 0 then block.empty[slot]:arrive() end
  elseif i < plan.high then
    block.empty[slot]:arrive(i)
  end
end

-- Waits until a slot is as the instruction takes it.
local function await(block, slot, parity) (block.turned or block).full[slot]:wait(parity) end

-- What C holds is asked for in one of the steps of K.
local function fetch_at(plan, block, k, fetch)
  if plan.store.fetches and k == min(FETCH_STEP, block.k_tiles - 1) then fetch() end
end

-- Begins the products of a slot that is full.
local function begin_in(mma, slot, tCsX, tCsY, sums, accumulate)
  wgmma_fence()
  gemm(mma, tCsX, tCsY(_, _, _, slot), sums, {accumulate = accumulate})
  wgmma_commit()
end

-- Part i of an operand's columns (V,N,K,stage), each of which an instruction takes at once.
local function part_of(tCsY, i)
  return tile(tCsY, {size(tCsY, 0), 1, size(tCsY, 2), size(tCsY, 3)}, {0, i, 0, 0})
end

-- Waits for the next slot and begins its products, number k of the tile, which are added to sums.
-- Returns the slot.
local function begin_products(plan, block, state, k, tCsX, tCsY, sums, fetch)
  local slot = state.slot
  await(block, slot, state.parity)
  begin_in(plan.mma, slot, tCsX(_, _, _, slot), tCsY, sums, k > 0)
  fetch_at(plan, block, k, fetch)
  return slot
end

-- Multiplies slots of the ring, number k of the tile and those that follow it, a part of columns at
-- a time: while the sums of a part are scaled and added, the products of the next part run. None
-- runs on: ptxas would wait for each product if some did in the next turn of a loop.
local function scale_slots(plan, block, state, tCsX, tCsY, sums, fetch, promoter, at, k, n_slots)
  local n, slots, reads = plan.parts, {}, {}
  local last = n * n_slots - 1
  local function begin(i)
    local of = i // n
    if i % n == 0 then
      slots[of] = state.slot
      await(block, slots[of], state.parity)
      reads[of] = promoter:read(block.scales, slots[of], at)
      state:advance()
    end
    begin_in(plan.part_mma, slots[of], tCsX(_, _, _, slots[of]), n > 1 and part_of(tCsY, i % n)
      or tCsY, promoter:part(i), false)
    if i % n == 0 then fetch_at(plan, block, k + of, fetch) end
  end
  begin(0)
  for i = 0, last do
    local of, is_end = i // n, i % n == n - 1
    if i < last then begin(i + 1) end
    local factors = reads[of](i % n)
    wgmma_wait(i < last and 1 or 0)
    if is_end then M.release(plan, block, slots[of]) end
    promoter:add(sums, factors, i % n)
  end
end

--- The sums of a tile by one group, whose blocks of K have scales. at: {A =, B =}, the first row of
--- each in the tile that is the thread's.
function M.scaled(plan, block, state, tCsX, tCsY, sums, fetch, promoter, at)
  local at_once = plan.at_once
  local function some(k, n)
    scale_slots(plan, block, state, tCsX, tCsY, sums, fetch, promoter, at, k, n)
  end
  clear(sums)
  for i in range(block.k_tiles // at_once) do some(i * at_once, at_once) end
  if at_once > 1 and block.k_tiles % at_once > 0 then some(block.k_tiles - 1, 1) end
end

--- The same without scales. `behind`: the products of one slot still run while the next begin, and
-- those of the last one run on: its slot is returned, to be released.
function M.sums(plan, block, state, tCsX, tCsY, sums, fetch, behind)
  local before = 0
  for k in range(block.k_tiles) do
    local slot = begin_products(plan, block, state, k, tCsX, tCsY, sums, fetch)
    wgmma_wait(behind and 1 or 0)
    if not behind then
      M.release(plan, block, slot)
    else
      if k > 0 then M.release(plan, block, before) end
      before = slot
    end
    state:advance()
  end
  return before
end

--- The same with rows in registers, where the products of the last slot always run on.
function M.held(plan, block, state, held, read, tCsY, sums, fetch)
  return turn.multiply(plan.mma, state, held, tCsY, sums, block.k_tiles, {
    read = read, await = function(slot, parity) await(block, slot, parity) end,
    begun = function(k) fetch_at(plan, block, k, fetch) end,
    release = function(slot) M.release(plan, block, slot) end })
end

--- What a block stores of the sums that the blocks of a cluster have of a tile: these are added in
--- the order of K. A thread's columns are adjacent in its fragment (V,N,M); i: its number among
--- those that multiply; memory: that of M.others.
function M.add_up(plan, memory, sums, i)
  local n, rank = plan.k_blocks, cluster_rank()
  local part = size(sums, 0) // n
  local all = fragment(sums.dtype, { part, size(sums, 1), size(sums, 2) })
  local function of(block, v) -- what is stored by a block, number v
    local first = v % part + v // part * size(sums, 0)
    local value = sums[first]
    for q = 1, n - 1 do value = block == q and sums[first + q * part] or value end
    return value
  end
  for step = 1, n - 1 do
    for v in unroll(0, size(all)) do memory[{i, v, step - 1}] = of((rank + step) % n, v) end
  end
  sync_cluster()
  clear(all)
  for q = 0, n - 1 do
    local others, step = map_shared_rank(memory, q), (rank + n - q) % n
    for v in unroll(0, size(all)) do
      local theirs = others[{i, v, max(step - 1, 0)}]
      all[v] = all[v] + (step == 0 and of(rank, v) or theirs)
    end
  end
  return all
end

--- The memory for what each of n blocks hands on of its threads' sums, `count` of a thread.
function M.others(dtype, threads, count, n)
  return shared(dtype, layout{ threads, count // n, n - 1 })
end

return M
