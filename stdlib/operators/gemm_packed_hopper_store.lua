-- gemm_packed_hopper_store.lua: what a warp group of gemm_packed_hopper.lua does with its sums:
-- alpha and epilogue, of glu of two rows that make one of C; then C by way of shared memory, which
-- TMA stores or, of groups of rows, threads.
local epilogue = require "cuttle.gemm_epilogue"
local indexed = require "cuttle.gemm_indexed"
local nested = require "cuttle.gemm_nested"
local M = {}

local GROUP <const>, ROWS <const> = 128, 64
local BUFFERS <const> = 2 -- of a warp group, where a block has more to store than one of them holds
local VECTOR <const> = 8 -- elements of C that a thread stores at once
local LANES <const>, DEEP <const> = 4, 8 -- of 32 elements, which have an order: 4 lanes have 8 each

--- Adds to the kernel's plan what is stored, of C of 16 bits.
function M.plan(variant, plan)
  plan.stored_rows = variant.glu and ROWS // 2 or ROWS -- of what is stored
  plan.passes = plan.stored_columns // plan.pass -- of ROWS rows of the weight
  if variant.c_dtype.bits ~= 16 then return end
  local line = gmma_layout(variant.c_dtype, "MN", plan.stored_rows * variant.c_dtype.bits // 8)
  plan.buffers = BUFFERS
  if plan.k_blocks > 1 then plan.buffers = math.min(BUFFERS, plan.passes) end
  -- Stores of other buffers may still read, where each buffer's turn comes round.
  plan.under_way = plan.high * plan.passes % plan.buffers == 0 and plan.buffers - 1 or 0
  plan.stored = tile_to_shape(line, {plan.stored_rows, plan.pass, plan.buffers})
  plan.store = tiled_copy_C(atom("SM90_U16x8_STSM_T", variant.c_dtype), plan.like)
  local along = plan.stored_rows // VECTOR
  plan.by_rows = tiled_copy(atom("UniversalCopy<u16>", variant.c_dtype),
    layout{along, GROUP // along}, layout{VECTOR, 1})
end

-- Pairs of rows 2 i and 2 i + 1 side by side: of a thread's sums {4 t + b} of row g and
-- {4 t + 2 + b} of row g + 8, and those of the lane that has the row below or above. A lane of an
-- even row then has rows g and g + 1, another g + 7 and g + 8. Returns the pairs, and what makes of
-- the places of a thread's sums a list of those of the first of each pair.
local function pairs_of(lane, sums)
  local is_odd = lane.lane // 4 % 2 == 1
  local made = fragment(sums.dtype, size(sums))
  for i = 0, size(sums) // 2 - 1 do
    local at = i // 2 * 4 + i % 2
    local upper, lower = sums[at], sums[at + 2]
    local other = shfl_xor(where(is_odd, upper, lower), 4)
    made[2 * i], made[2 * i + 1] = where(is_odd, other, upper), where(is_odd, lower, other)
  end
  return made, function(places)
    local list = {}
    for i = 0, size(sums) // 2 - 1 do
      local at = i // 2 * 4 + i % 2
      list[2 * i] = { where(is_odd, places[at + 2][1] - 1, places[at][1]), places[at][2] }
    end
    return list
  end
end

-- Where element i of a row is in the order of the codes: of 32 elements, which are words of 16 or,
-- of activations of 8 bits, 32 bits of each of 4 lanes, the words of all lanes with one number are
-- side by side. Bytes 1 and 2 of a word change place.
local function ordered(i, bits)
  local n = bits == 8 and 4 or 2 -- elements of a word
  local lane, word, at = i // DEEP % LANES, i % DEEP // n, i % n
  if bits == 8 then at = at % 2 * 2 + at // 2 end
  return i // 32 * 32 + n * (word * LANES + lane) + at
end

-- A thread's elements of C of a pass to a buffer; places are the coordinates of its sums in C.
local function put(lane, out, sums, thr, places, memory)
  local plan = lane.plan
  if not lane.variant.glu then
    local copier = plan.store:get_slice(threadIdx.x % GROUP)
    local new = out:finished(sums, nil, places)
    return function() copy(plan.store, copier:retile_S(new), copier:partition_D(memory)) end
  end
  local pairs, places_of = pairs_of(lane, sums)
  local new, own = out:paired(pairs, places_of(places)),
    places_of(thr:partition_C(identity_tensor{ROWS, plan.pass}))
  local bits = lane.variant.orders
  return function()
    for i = 0, size(new) - 1 do
      local row = own[2 * i][1] // 2
      memory[{bits and ordered(row, bits) or row, own[2 * i][2]}] = new[i]
    end
  end
end

-- What brings a buffer to C at (row, column), in tiles of a pass: TMA or, of a group, whose rows
-- are `part`, threads.
local function mover(lane, C, part)
  local plan = lane.plan
  if not part then
    local to, is_first = tile(tma_tensor(C), {ROWS, plan.pass}, {_, _}), threadIdx.x % GROUP == 0
    return function(memory, row, column)
      if is_first then
        tma_store(memory, to(_, _, row, column))
        tma_store_commit()
      end
    end
  end
  local thr = plan.by_rows:get_slice(threadIdx.x % GROUP)
  return function(memory, row, column)
    local places = thr:partition_S(tile(part.places, {plan.stored_rows, plan.pass}, {row, column}))
    nested.store(part.rows, nested.rows(part.rows, places), places, thr:partition_S(memory))
  end
end

-- Of C in groups: how rows of one are stored, and the coordinates of these.
local function part_of_group(variant, C, by, group)
  local matrix = indexed.until_end(C, 1, by.scatter, group)
  local n = variant.c_dtype.bits == 16 and VECTOR or 1
  return { rows = nested.gather(variant, matrix, n, 0, {1, 2}),
           places = domain_offset({0, group.first}, nested.places(matrix)) }
end

-- ROWS rows of the weight, in passes, each to the buffer after that of the pass before, of which
-- the tile has had so many.
local function store_rows(lane, C, row, column, sums, ending, group, before)
  local variant, plan, i = lane.variant, lane.plan, threadIdx.x % GROUP
  local thr, part = plan.like:get_slice(i), group and part_of_group(variant, C, ending.by, group)
  local out = epilogue.begin(variant, ending.alpha, ending.beta, { l = group and group.g or 0,
    operands = ending.operands, scales = ending.scales, m = row, n = column,
    extent = {size(C, 0), size(C, 1)} })
  local places = identity_tensor{size(C, 0) * (variant.glu and 2 or 1), size(C, 1)}
  if group then places = domain_offset({0, group.first}, places) end
  local passes, move = plan.passes, plan.stored and mover(lane, C, part)
  local function store_pass(p)
    local own, at_column = tile(sums, {size(sums, 0) // passes, 1, 1}, {p, 0, 0}),
      column * passes + p
    local at = thr:partition_C(tile(places, {ROWS, plan.pass}, {row, at_column}))
    if not move then return out:store(own, part.rows, at) end
    local memory = lane.stored(_, _, (before + p) % plan.buffers)
    local write = put(lane, out, own, thr, at, memory)
    if not group and i == 0 then tma_store_wait(plan.under_way) end
    lane.together:sync()
    write()
    if not group then fence_proxy_async() end
    lane.together:sync()
    move(memory, row, at_column)
  end
  for p = 0, passes - 1 do
    if not group or (column * passes + p) * plan.pass < group.rows then store_pass(p) end
  end
end

--- A warp group's sums of a tile, from row `row` of tiles of ROWS on, to C; group: of rows, whose
--- the tile is, or nil.
function M.store(lane, C, row, column, sums, ending, group)
  for i = 0, lane.plan.high - 1 do
    local own = tile(sums, {size(sums, 0), 1, 1}, {0, i, 0})
    store_rows(lane, C, row + i, column, own, ending, group, i * lane.plan.passes)
  end
end

return M
