-- gemm_hopper.lua: the kernel of matmul for Hopper: TMA fills a ring of stages in shared memory,
-- one warp group issues it, the others multiply by wgmma, which reads operands where they lie, and
-- TMA stores C while the next tile is multiplied. Blocks stay for many tiles. The instruction's
-- columns are adjacent in its product, so they are the contiguous M of C: its A, the rows, is
-- matmul's B, and its B, the columns, is matmul's A. Fields of its configurations, beside those
-- that matmul.lua lists (bM is the instruction's N, bN a multiple of 64):
--   schedule   "cooperative": the groups share a tile; "ping-pong": each has its own, and one
--              multiplies while the other stores
--   groups     warp groups that multiply, 2 where it is absent
--   behind     of a shared tile: the products of a stage run while those of the next begin, as they
--              do where no other group multiplies. Not of groups of rows, which were slower so
--   rows       of a tile that are loaded, for problems that have no more of them (bN is 64 and one
--              group multiplies): TMA takes time for zeros, too
--   registers  of a thread, {of the group that loads, of those that multiply}
--   stages     tiles of K in the ring
--   fetch      bytes that L2 brings from memory at once, of what is contiguous along K; 128 where
--              it is absent
--   store      {panels, buffers} of C in shared memory, for each group (gemm_hopper_store.lua)
--   blocks     of the grid, or fewer where there are fewer tiles; a number, or a function of how
--              many multiprocessors there are
--   order, group  the way through the tiles, as raster takes it
--   cluster    blocks that lie above each other and share the columns: 2, or absent
--   k_blocks   blocks of a cluster that share a tile, of which each multiplies a part of K; then
--              each adds up and stores a part of the tile's columns. A block has one tile
--   pdl        the launch may begin while the one before ends
--   min_blocks of a multiprocessor, where there are to be more than one
--   parts      of blocks of K with scales, whose sums take registers: of a group's tile, parts
--              that are multiplied one after the other, each of 64 rows. Of four, the next tile is
--              begun before a tile is stored, if scales leave registers for that
--   across     the instruction's A is matmul's A. So its columns are not what is adjacent in C, and
--              C is stored across them. The tile is {bN, bM, bK}
--   stream_k   blocks share tiles of the last round (gemm_hopper_stream.lua): of a shared tile, in
--              groups
--   transposes  another kernel copies A first, contiguous along K (gemm_hopper_transpose.lua)
--   boxes      for a C whose modes have two parts, if passes lie in one part: TMA stores these
--   gathers    for nested matrices and rows by an index, which the group that loads gathers
--              (gemm_hopper_nested.lua)
local arrive = require "cuttle.warp_arrive"
local indexed = require "cuttle.gemm_indexed"
local multiply = require "cuttle.gemm_hopper_multiply"
local nested = require "cuttle.gemm_hopper_nested"
local problems = require "cuttle.gemm_hopper_problem"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local store = require "cuttle.gemm_hopper_store"
local streams = require "cuttle.gemm_hopper_stream"
local tail = require "cuttle.gemm_hopper_tail"
local turn = require "cuttle.gemm_hopper_turn"
local walks = require "cuttle.gemm_hopper_walk"
local M = setmetatable({}, { __index = problems })

local GROUP <const>, WARP <const> = 128, 32 -- threads of a warp group, and of a warp
local ROWS <const> = 64 -- of an instruction
local LINE_BITS <const>, VECTOR_BITS <const> = 1024, 128 -- of a swizzled line, of a wide access
local AHEAD_PARTS <const> = 4 -- of a tile, of which some run when the next tile begins
local ORDER_ID <const> = 1 -- of the named barriers that order the groups; store's follow

-- {====== The parts ======

-- An operand's ring (rows, bK, stage): lines of 128 bytes along what is contiguous. Of what is
-- contiguous along its rows 64 of them lie together for all k, as one box of TMA brings them.
local function ring_layout(variant, major, rows)
  local bK, dtype = variant.tile[3], variant.dtype
  local atom = gmma_layout(dtype, major == "k" and "K" or "MN", LINE_BITS // 8)
  if major == "k" then return tile_to_shape(atom, {rows, bK, variant.stages}) end
  local panel = tile_to_shape(atom, {LINE_BITS // dtype.bits, bK})
  return tile_to_shape(panel, {rows, bK, variant.stages})
end

-- The variant whose tiles are what a block stores: all of a tile, or a part of its columns.
local function stored_of(variant)
  if not variant.k_blocks then return variant end
  local bM, bN, bK = table.unpack(variant.tile)
  return setmetatable({ tile = { bM // variant.k_blocks, bN, bK } }, { __index = variant })
end

-- What the kernel knows of itself before it is traced.
local function plan_of(variant)
  local bM, bN, bK = table.unpack(variant.tile)
  local k, kind = table.unpack(problems.atoms[variant.dtype.name])
  local groups, is_shared = problems.n_groups(variant), variant.schedule == "cooperative"
  local together = is_shared and groups or 1 -- groups in one tile
  local turns = turn.plan(variant)
  if turns and turns.held then kind = kind:gsub("_SS", "_RS") end
  local function mma_of(n, rows, high)
    return tiled_mma(("SM90_64x%dx%d_%s"):format(n, k, kind), {high, 1, 1},
      turn.permutation(turns, rows, high))
  end
  local mma = mma_of(bM, bN // together, together)
  local held, stored = turns and turns.held, stored_of(variant)
  local parts = variant.parts or 1
  local wide = bM // math.max(parts // (bN // together // ROWS), 1) -- columns of a part
  return { mma = mma, turns = turns, held = held, groups = groups, together = together,
           high = variant.cluster or 1,
           part = bM // (variant.cluster or 1), rows = ring_layout(variant, variant.b_major, bN),
           columns = ring_layout(variant, variant.a_major, bM),
           loaded = variant.rows or bN,
           bytes = (bM + (variant.rows or bN)) * bK * variant.dtype.bits // 8,
           tma_bytes = ((variant.nested_A and 0 or bM) + (variant.nested_B and 0 or bN)) * bK
             * variant.dtype.bits // 8,
           by_warps = held or scaling.is_deep(variant),
           parts = parts,
           part_mma = parts > 1 and mma_of(wide, bN // together, together) or mma,
           k_blocks = variant.k_blocks or 1,
           stored = stored, mma_of = mma_of,
           store = store.plan(stored, mma_of, bN // together, held) }
end

-- How many parts of the next tile a group begins before it stores one, or nil. All blocks know how
-- many tiles they have. There are registers for that if a thread holds all of its scales, or if
-- parts in two rows need the same ones; for two parts, where one operand has few scales.
local function ahead_of(variant, plan)
  local can = plan.parts == AHEAD_PARTS and variant.promotes ~= nil
    and (scaling.holds_all(variant) or variant.tile[2] // plan.together > ROWS)
    and not (variant.grouped or variant.batched)
  return can and (scaling.is_each(variant) and 1 or 2) or nil
end

-- How many tiles the block has.
local function n_tiles(plan, block)
  local tiles = block.walk.tiles
  return cdiv(tiles[1] * tiles[2] - blockIdx.x // plan.high, gridDim.x // plan.high)
end

-- The coordinates of the operands' matrices for a batch or a group: x is the rows'.
local function matrices_of(block, x, y, group)
  if not group then return store.of_batch(x, block.l), store.of_batch(y, block.l) end
  if group.k_tiles ~= nil then
    local at = {0, group.first}
    return domain_offset(at, store.of_batch(x, 0)), domain_offset(at, store.of_batch(y, 0))
  elseif group.panel ~= nil then
    return store.of_batch(x, group.panel), store.of_batch(y, group.panel)
  end
  return domain_offset({group.first, 0}, store.of_batch(x, 0)), store.of_batch(y, group.g)
end

-- The tile's part of K, of which there may be one.
local function take_part(block, part)
  if part and part.k_tiles ~= nil then
    block.k_first, block.k_tiles = part.k_first, part.k_tiles
  end
end

-- What launches before this one in the stream write is read behind this only.
local function await_dependencies(variant)
  if variant.pdl and not variant.grouped then grid_dependency_wait() end
end

-- Of a slot's rows those that TMA brings.
local function loaded_part(variant, plan, rows)
  if not variant.rows then return rows end
  return tile(rows, {plan.loaded, variant.tile[3]}, {0, 0})
end

-- The rows that TMA never brings are 0 in all slots: no product is made of what nobody wrote.
local function clear_rest(variant, plan, block, together)
  local wide, across = VECTOR_BITS // variant.dtype.bits, LINE_BITS // VECTOR_BITS
  local atom = atom("UniversalCopy<u128>", variant.dtype)
  local thr = tiled_copy(atom, row_major{GROUP // across, across}, row_major{1, wide})
    :get_slice(threadIdx.x % GROUP)
  local parts = thr:partition_D(tile(block.rows, {plan.loaded, variant.tile[3]}, {_, 0}))
  local zeros = fragment(variant.dtype, shape(parts(_, _, _, 0, 0)))
  clear(zeros)
  for slot = 0, variant.stages - 1 do
    for i = 1, size(parts, 3) - 1 do copy(zeros, parts(_, _, _, i, slot)) end
  end
  fence_proxy_async()
  together:sync()
end

-- One thread: all tiles of both operands, as slots become empty.
local function load_all(variant, plan, block, X, Y)
  local bK = variant.tile[3]
  local all_x = nested.by_tma(variant, X, variant.b_major)
  local all_y = nested.by_tma(variant, Y, variant.a_major)
  local function boxes_of(group)
    local x, y = matrices_of(block, all_x, all_y, group)
    return tile(x, {plan.loaded, bK}, {_, _}), tile(y, {plan.part, bK}, {_, _}) -- (rows,bK,row,k)
  end
  local gX, gY
  local is_parted = variant.grouped or variant.batched
  if not is_parted then gX, gY = boxes_of() end
  local state = pipeline_state(variant.stages, {parity = 1}) -- all slots are empty at first
  walks.each_tile(variant, block, 0, 1, function(row, column, part)
    local fromX, fromY = gX, gY
    if is_parted then fromX, fromY = boxes_of(part) end
    local load_rows = block.panels and block.panels:loader(part)
    take_part(block, part)
    for k in range(block.k_tiles) do
      local slot, at = state.slot, block.k_first and block.k_first + k or k
      local full = block.full[slot]
      if k == 0 then await_dependencies(variant) end -- the tile's place is computed before
      block.empty[slot]:wait(state.parity)
      full:arrive_expect_tx(plan.bytes)
      if plan.high == 1 then
        if load_rows then
          load_rows(k, block.rows(_, _, slot), full)
        else
          local to = loaded_part(variant, plan, block.rows(_, _, slot))
          tma_load(fromX(_, _, row, at), to, full)
        end
        tma_load(fromY(_, _, column, at), block.columns(_, _, slot), full)
      else
        local rank = cluster_rank()
        tma_load(fromX(_, _, row * plan.high + rank, k), block.rows(_, _, slot), full)
        tma_load(fromY(_, _, column * plan.high + rank, k),
          tile(block.columns(_, _, slot), {plan.part, bK}, {rank, 0}), full,
          {multicast = (1 << plan.high) - 1})
      end
      state:advance()
    end
  end)
  if block.panels then block.panels:finish_loads() end
end

-- All threads but those of the warp that issues TMA: the scales of blocks of K, as slots become
-- empty. Those of the next block are asked for while its slot is still read.
local function load_scales(variant, plan, block, scales)
  local bM, bN = variant.tile[1], variant.tile[2]
  local state = pipeline_state(variant.stages, {parity = 1}) -- all slots are empty at first
  walks.each_tile(variant, block, 0, 1, function(row, column, part)
    if plan.high > 1 then row = row * plan.high + cluster_rank() end
    local first, l = { A = column * bM, B = row * bN }, block.l
    if part ~= nil then
      if part.panel ~= nil then l = part.panel else first.B, l = first.B + part.first, part.g end
    end
    local ask, put = scaling.bringer(variant, scales, first, l, threadIdx.x - WARP, GROUP - WARP)
    await_dependencies(variant)
    ask(0)
    for k in range(block.k_tiles) do
      local slot = state.slot
      block.empty[slot]:wait(state.parity)
      put(block.scales(_, slot))
      arrive(block.full[slot])
      ask(min(k + 1, block.k_tiles - 1))
      state:advance()
    end
  end)
end

-- A group that multiplies.
local function multiply_all(variant, plan, block, C, stored_in, ending)
  local bM, bN = variant.tile[1], variant.tile[2]
  -- From one lane for all: slots and descriptors that depend on it stay in registers of the warp.
  local i = threadIdx.x - GROUP
  local group, own = shfl_idx(i // GROUP, 0), i % GROUP
  local sums = fragment(variant.sum, plan.mma:partition_shape_C{bN, bM})
  local is_shared = variant.schedule == "cooperative"
  local in_mma = is_shared and group * GROUP + own or own
  local thr = plan.mma:get_slice(in_mma)
  local tCsX = not plan.held and thr:partition_A(block.rows)
  local tCsY = thr:partition_B(block.turned and block.turned.columns or block.columns)
  local tPsY = plan.parts > 1 and plan.part_mma:get_slice(in_mma):partition_B(block.columns)
    or tCsY
  local held, read
  if plan.held then
    held, read = turn.hold(variant, plan.mma, thr, block.rows, is_shared and group or 0,
      plan.together)
  end
  local state = pipeline_state(variant.stages)
  local out = store.begin(plan.stored, plan.store, block.memory, block.fetched, group,
    C, tma_tensor(stored_in), block.l, block.by)

  local function block_row(row)
    return plan.high > 1 and row * plan.high + cluster_rank() or row
  end
  local function own_row(row)
    if plan.high > 1 then row = block_row(row) end
    return is_shared and row * plan.together + group or row
  end

  local behind = held or not variant.promotes
    and (plan.groups == 1 or variant.behind and not variant.grouped or not is_shared)
  local scaled, left -- left: tiles of the block
  local mine, other -- barriers of a ping-pong, whose groups multiply in turn

  local function compute(row, column, part)
    if mine then mine:sync() end
    take_part(block, part)
    local to = block.stream and out or out:of(part)
    local stored = column -- among columns of what blocks store
    if plan.k_blocks > 1 then stored = column * plan.k_blocks + cluster_rank() end
    local function fetch() to:fetch(own_row(row), stored) end
    local slot
    if scaled then
      scaled(fetch, left ~= nil and left > 1)
      if left ~= nil then left = left - 1 end
    elseif held then
      slot = multiply.held(plan, block, state, held, read, tCsY, sums, fetch)
    else
      slot = multiply.sums(plan, block, state, tCsX, tCsY, sums, fetch, behind)
    end
    if other then other:arrive() end
    if behind then
      wgmma_wait(0)
      multiply.release(plan, block, slot)
    end
    if not is_shared then state:advance(block.k_tiles) end
    if block.panels then block.panels:before_store(group, own == 0) end
    local all = plan.k_blocks > 1
      and multiply.add_up(plan, block.sums, sums, threadIdx.x - GROUP) or sums
    if not block.stream then return to:store(all, own_row(row), stored, row, ending) end
    if part.hands_on then
      streams.hand_on(block.stream, sums, group, out.together)
    else
      if part.takes then streams.take(block.stream, sums, group, out.together) end
      to:store(all, own_row(row), stored, row, ending)
    end
  end

  if variant.rows then clear_rest(variant, plan, block, out.together) end
  await_dependencies(variant)
  if variant.promotes then
    local at = thr:partition_C(identity_tensor{bN, bM})[0]
    if plan.ahead then left = n_tiles(plan, block) end
    local promoter = scaling.begin(variant, ending.scales, sums, block.l, nil, plan.parts)
    scaled = multiply.scaled(plan, block, state, tCsX, tPsY, sums, promoter,
      { A = at[2], B = at[1] })
  end
  if is_shared then
    walks.each_tile(variant, block, 0, 1, compute)
  else
    mine = named_barrier(ORDER_ID + group, 2 * GROUP)
    other = named_barrier(ORDER_ID + 1 - group, 2 * GROUP)
    if group == 1 then other:arrive() end
    state:advance(group * block.k_tiles)
    walks.each_tile(variant, block, group, 2, compute)
  end
  if block.panels then
    block.panels:before_store(group, own == 0)
    block.panels:after_tiles(function(f) walks.each_tile(variant, block, 0, 1, f) end)
  end
  out:finish()
end

-- {====== The kernel ======

-- The parameters of a kernel, by what it takes before alpha: their names are those of its text.
local parameters <const> = {
  none = function(body)
    return function(A, B, C, alpha, beta, ...) body(A, B, C, alpha, beta, {...}) end
  end,
  order = function(body)
    return function(A, B, C, order, alpha, beta, ...) body(A, B, C, alpha, beta, {...}, order) end
  end,
  stream = function(body)
    return function(A, B, C, room, alpha, beta, ...)
      body(A, B, C, alpha, beta, {...}, nil, room)
    end
  end,
  panels = function(body)
    return function(A, B, C, order, panels, alpha, beta, ...)
      body(A, B, C, alpha, beta, {...}, order, panels)
    end
  end,
}

--- See matmul.lua. `ranks`, if there is one, is gemm_gather.lua or gemm_scatter.lua: the rows are
--- in panels of ranks.
function M.make(variant, ranks)
  local bK, dtype = variant.tile[3], variant.dtype
  local plan = plan_of(variant)
  local arrivals = plan.together * plan.high * (plan.by_warps and GROUP // WARP or 1)
  reduce.plan(plan.stored, plan.k_blocks == 1 and plan.mma
    or plan.mma_of(plan.stored.tile[1], variant.tile[2] // plan.together, plan.together),
    GROUP * plan.together, true)
  scaling.plan(variant, plan.mma, true)
  plan.ahead = not ranks and ahead_of(variant, plan)
  -- Arrivals that make a slot full.
  local fills = variant.gathers and nested.arrivals(variant)
    or variant.promotes and GROUP // WARP or 1

  -- room: memory of panels or of Stream-K.
  local function body(A, B, C, alpha, beta, operands, order, room)
    local to = C
    if variant.boxes then C = store.of_boxes(C) end
    local rows, columns = shared(dtype, plan.rows), shared(dtype, plan.columns)
    local stored = store.memory(plan.store, plan.groups)
    local full, empty = mbarrier(variant.stages, fills), mbarrier(variant.stages, arrivals)
    local fetched = store.barriers(plan.store, plan.groups)
    local block = { rows = rows, columns = columns, memory = stored, full = full, empty = empty,
                    turned = variant.grouped == "k" and tail.begin(variant, columns)
                      or turn.begin(variant, plan.turns, columns), fetched = fetched,
                    scales = scaling.ring(variant), k_tiles = cdiv(size(A, 1), bK),
                    walk = walks.begin(variant, plan, C, order), l = blockIdx.z,
                    stream = variant.stream_k and streams.begin(room, plan.groups),
                    panels = ranks and ranks.begin(variant, plan, B, room) }
    block.all_k_tiles = block.k_tiles
    if block.stream then block.k_first = 0 end
    if plan.k_blocks > 1 then
      local tiles, n, rank = block.k_tiles, plan.k_blocks, cluster_rank()
      block.k_first = tiles * rank // n
      block.k_tiles = tiles * (rank + 1) // n - block.k_first
      block.sums = multiply.others(variant.sum, GROUP * plan.groups,
        size(plan.mma:partition_shape_C{variant.tile[2], variant.tile[1]}), n)
    end
    if variant.batched then block.batches = rank(C) == 3 and size(C, 2) or 1 end
    if variant.grouped then
      block.ends = table.remove(operands, 1)
      block.by = indexed.take(variant, operands)
      block.extent = block.by.extent or variant.grouped == "k" and size(A, 1) or size(C, 1)
    end
    local ending = { alpha = alpha, beta = beta, scales = scaling.take(variant, operands),
                     operands = operands }
    if plan.high == 1 then sync_threads() else sync_cluster() end
    if variant.pdl then
      grid_dependency_launch() -- the next one's blocks wait likewise
      if variant.grouped then grid_dependency_wait() end -- for where groups end
    end
    if threadIdx.x < GROUP then
      if variant.registers then setmaxnreg(variant.registers[1]) end
      if variant.gathers then
        nested.load_all(variant, plan, block, B, A, function(f)
          walks.each_tile(variant, block, 0, 1, f)
        end)
      elseif threadIdx.x == 0 then
        load_all(variant, plan, block, B, A)
      elseif block.turned then
        local prepare = variant.grouped and tail.clear_all or turn.turn_all
        prepare(variant, block, function(f) walks.each_tile(variant, block, 0, 1, f) end)
      elseif block.scales then
        if threadIdx.x >= WARP then load_scales(variant, plan, block, ending.scales) end
      end
      if plan.k_blocks > 1 then sync_cluster() end -- sums are there
      if block.panels then
        block.panels:move(function(f) walks.each_tile(variant, block, 0, 1, f) end)
      end
    else
      if variant.registers then setmaxnreg(variant.registers[2]) end
      multiply_all(variant, plan, block, C, to, ending)
    end
    -- Others may still arrive here, or read sums.
    if plan.high > 1 or plan.k_blocks > 1 then sync_cluster() end
  end

  local takes = ranks and "panels" or variant.stream_k and "stream"
    or variant.order == "hilbert" and not variant.grouped and not variant.batched and "order"
  return kernel(variant.name, parameters[takes or "none"](body),
    {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
