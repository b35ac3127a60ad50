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
local function begin_in(plan, slot, tCsX, tCsY, sums, accumulate)
  wgmma_fence()
  gemm(plan.mma, tCsX, tCsY(_, _, _, slot), sums, {accumulate = accumulate})
  wgmma_commit()
end

-- Waits for the next slot and begins its products, number k of the tile, which are added to sums.
-- Returns the slot.
local function begin_products(plan, block, state, k, tCsX, tCsY, sums, fetch)
  local slot = state.slot
  await(block, slot, state.parity)
  begin_in(plan, slot, tCsX(_, _, _, slot), tCsY, sums, k > 0)
  fetch_at(plan, block, k, fetch)
  return slot
end

--- The sums of a tile by one group, whose blocks of K have scales: other groups multiply while this
-- one adds a block's sums. Those of 64 rows at a time, so that they are few. at: {A =, B =}, the
-- thread's first row of each in the tile.
function M.scaled(plan, block, state, tCsX, tCsY, sums, fetch, promoter, at)
  clear(sums)
  for k in range(block.k_tiles) do
    local slot, waves = state.slot, plan.waves
    await(block, slot, state.parity)
    local scales_of, reads_later = promoter:read(block.scales, slot, at)
    for wave = 0, waves - 1 do
      local rows, is_last = tCsX(_, _, _, slot), wave == waves - 1
      if waves > 1 then rows = tile(rows, {size(rows, 0), 1, size(rows, 2)}, {0, wave, 0}) end
      begin_in(plan, slot, rows, tCsY, promoter.part, false)
      if wave == 0 then fetch_at(plan, block, k, fetch) end
      wgmma_wait(0)
      if is_last and not reads_later then M.release(plan, block, slot) end
      promoter:add(sums, scales_of(), wave)
      if is_last and reads_later then M.release(plan, block, slot) end
    end
    state:advance()
  end
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
-- the order of K. A thread's columns are adjacent in its fragment (V,N,M).
function M.add_up(plan, memory, sums)
  local i, n, rank = threadIdx.x - GROUP, plan.k_blocks, cluster_rank()
  for v = 0, size(sums) - 1 do memory[{i, v}] = sums[v] end
  sync_cluster()
  local part = size(sums, 0) // n
  local all = fragment(sums.dtype, { part, size(sums, 1), size(sums, 2) })
  clear(all)
  for q = 0, n - 1 do
    local others = map_shared_rank(memory, q)
    for v in unroll(0, size(all)) do
      all[v] = all[v] + others[{i, v % part + rank * part + v // part * size(sums, 0)}]
    end
  end
  return all
end

return M
