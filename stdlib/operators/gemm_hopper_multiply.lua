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

-- Part i of an operand's rows or columns (V,N,K,stage), each of which an instruction takes at once.
local function part_of(tCs, i)
  if size(tCs, 1) == 1 then return tCs end
  return tile(tCs, {size(tCs, 0), 1, size(tCs, 2), size(tCs, 3)}, {0, i, 0, 0})
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

-- The sums of blocks of K that have scales, all columns of a slot at a time.
local function scaled_whole(plan, block, state, tCsX, tCsY, sums, promoter, at)
  return function(fetch)
    clear(sums)
    for k in range(block.k_tiles) do
      local slot = state.slot
      await(block, slot, state.parity)
      local read = promoter:read(block.scales, slot, at)
      state:advance()
      begin_in(plan.mma, slot, tCsX(_, _, _, slot), tCsY, promoter:part(), false)
      fetch_at(plan, block, k, fetch)
      local factors = read(0)
      wgmma_wait(0)
      M.release(plan, block, slot)
      promoter:add(sums, factors, 0)
    end
  end
end

-- The same, a part of the tile at a time: while the sums of a part are scaled and added, the
-- products of the next one run. plan.ahead: those of one part also run on into the next turn of a
-- loop, which awaits them alone: ptxas would wait for each product if others ran then. And of the
-- next tile so many parts are begun before a tile is stored. Scales of a part are read before the
-- next one's products take shared memory's time.
local function scaled_parts(plan, block, state, tCsX, tCsY, sums, promoter, at)
  local last = plan.parts - 1
  local function begin(slot, i)
    local row, column = promoter:place(i)
    begin_in(plan.part_mma, slot, part_of(tCsX, row)(_, _, _, slot), part_of(tCsY, column),
      promoter:part(i), false)
  end
  local function begin_next()
    await(block, state.slot, state.parity)
    begin(state.slot, 0)
  end
  -- The next slot, and what reads its scales.
  local function take()
    local slot = state.slot
    local read = promoter:read(block.scales, slot, at)
    state:advance()
    return slot, read
  end
  local function add(slot, factors, i)
    if i == last then M.release(plan, block, slot) end
    promoter:add(sums, factors, i)
  end
  -- The parts of a slot, of which the first one's products run, alone if is_alone. What follow(),
  -- or nil, begins runs while the last part is added. What it returns is returned.
  local function scale_slot(slot, read, is_alone, follow)
    local next_slot, next_read
    for i = 0, last do
      local is_awaited = is_alone and i == 0
      local factors = plan.ahead and read(i)
      if is_awaited then wgmma_wait(0) end
      if i < last then
        begin(slot, i + 1)
      elseif follow then
        next_slot, next_read = follow()
      end
      factors = factors or read(i)
      if not is_awaited then wgmma_wait((i < last or follow) and 1 or 0) end
      add(slot, factors, i)
    end
    return next_slot, next_read
  end

  local function open_slot()
    await(block, state.slot, state.parity)
    local slot, read = take()
    begin(slot, 0)
    return slot, read
  end
  local function multiply(fetch)
    clear(sums)
    for i in range(block.k_tiles // 2) do
      local slot, read = open_slot()
      fetch_at(plan, block, 2 * i, fetch)
      slot, read = scale_slot(slot, read, false, open_slot)
      fetch_at(plan, block, 2 * i + 1, fetch)
      scale_slot(slot, read, false)
    end
    if block.k_tiles % 2 == 1 then
      local slot, read = open_slot()
      fetch_at(plan, block, block.k_tiles - 1, fetch)
      scale_slot(slot, read, false)
    end
  end
  if not plan.ahead then return multiply end

  -- The first slot of a tile, whose first two parts run.
  local function scale_first()
    local slot, read = take()
    wgmma_wait(0)
    for i = 0, 1 do
      add(slot, read(i), i)
      begin(slot, i + 2)
    end
    for i = 2, last do
      if i == last then begin_next() end
      local factors = read(i)
      wgmma_wait(1)
      add(slot, factors, i)
    end
  end
  -- Part i of the next tile, or nothing: either way it is a group of products, perhaps an empty
  -- one.
  local function begin_tile(i, has_next)
    if has_next then
      if i == 0 then begin_next() else begin(state.slot, i) end
    end
    wgmma_fence()
    wgmma_commit()
  end
  local has_two = plan.ahead == 2
  begin_next()
  if has_two then begin(state.slot, 1) end
  return function(fetch, has_next)
    clear(sums)
    if has_two then
      fetch_at(plan, block, 0, fetch)
      scale_first()
    end
    for k in range(plan.ahead - 1, block.k_tiles - 1) do
      fetch_at(plan, block, k, fetch)
      local slot, read = take()
      scale_slot(slot, read, true, begin_next)
    end
    fetch_at(plan, block, block.k_tiles - 1, fetch)
    local slot, read = take()
    scale_slot(slot, read, true, function() begin_tile(0, has_next) end)
    if has_two then begin_tile(1, has_next) end
  end
end

--- In a kernel: a function that makes the sums of a tile whose blocks of K have scales, by one
--- group: f(fetch, has_next). at: {A =, B =}, the first row of each in a tile that is the thread's.
--- plan.ahead: the next tile is begun, too, if there is one. Of the first, that is done here.
function M.scaled(plan, ...)
  return (plan.parts > 1 and scaled_parts or scaled_whole)(plan, ...)
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
