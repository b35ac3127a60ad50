-- row_plan.lua: how threads share the rows of a row_kernel. A plan is
--   columns   of the problem                 width    elements of a vector
--   vectors   of a row                       lanes    threads of a row in a block
--   rows      of a block at once             parts    blocks of a cluster that share a row
--   each      rows of which a thread has a part, one after the other
--   deep      vectors of a thread            holds    in registers, or read again in each pass
--   is_whole  the threads' vectors are the row's, with none left over
--   is_flat   blocks that share a row are no cluster, as nothing is reduced
--   in_turns  blocks take rows in turns      stages   slots of shared memory for parts of rows
--   box, boxes  elements of a box, and boxes of a part
--   slots     of shared memory for a thread's vectors of the rows of its turns
--   keeps_columns  blocks have inputs that all rows share in shared memory; with slots, threads
--             have them in registers
--   draws_at_once  a draw finds its largest value and the sum of its weights in one pass
--   overlaps  the launch may begin while the one before it ends
--   keeps_powers  a softmax keeps the powers of its only pass over elements in registers
--   warps_send  all warps of a cluster send what they have to all its blocks at once
--   per_sm    blocks in turns of a multiprocessor
--   ahead     of the row for which the second cache is asked, rows that come before it; of rows in
--             slots, vectors of a thread; nil: it is not asked
--   reads_anew  no pass keeps in registers what another one has made of held elements
--   widens    every second pass makes f32 of held elements by other instructions
--   min_blocks  that a multiprocessor has to hold, which limits a thread's registers; nil: no limit
--   group     columns of the largest group that is reduced, which lies in the lanes of one warp;
--             nil: no groups
--   swap      columns of the largest group whose halves a thread exchanges among its vectors, nil
--   shape, why  for explain
local M = {}

local WIDE_BYTES <const>, BLOCK <const>, WARP <const> = 16, 128, 32
local FEW_BYTES <const>, MOST_BYTES <const> = 32, 256 -- of a row in a thread's registers
local FLAT_BYTES <const>, GROUP_BYTES <const> = 64, 32 -- without reductions; with groups
local CLUSTER_BYTES <const> = 128 -- in a cluster
local LEAST_LANES <const> = 64 -- of a block
local HELD_THREADS <const> = 512 -- of a multiprocessor, with the registers for MOST_BYTES each
local MOST_LANES <const> = 512 -- threads that hold a row with MOST_BYTES each
local MOST_PARTS <const> = 8 -- more blocks in a cluster need a permission
local MOST_BOX <const> = 256 -- elements of a box along a mode
local RESIDENT_LANES <const>, LEAST_DEEP <const> = 1024, 4 -- of rows that would fit registers
local WIDE_LANES <const>, WIDE_DEEP <const> = 1024, 8 -- of a softmax in 64 registers of a thread
local SLOT_BYTES <const> = 229376 -- of a multiprocessor's slots of whole rows
local SINGLE_SLOTS <const> = 8 -- more are filled in pairs
local MOST_RESIDENT <const> = 262144 -- bytes of a row of one block
local LEAST_CROWDED <const> = 196608 -- bytes of a row with two weights of four blocks
local KEEPING_PARTS <const> = 4 -- blocks that keep the powers of a long softmax
local AHEAD_SLOTS <const> = 3 -- of the next row, beside those of a row
local MOST_SWAPPED <const> = 8 -- vectors of a thread that exchanges halves
local MOST_TWICE <const> = 2 -- vectors of a thread that has two rows, with a reduction
local MANY_BLOCKS <const> = 1024 -- if more are left, a thread has two rows
local KEPT_BYTES <const>, KEPT_OF_MANY <const> = 128, 96 -- of a thread's part of what rows share,
-- with one input and with more
local CROWDED_AHEAD <const> = 4 -- slots of the next row, where registers are few
local KEPT <const> = 32 -- elements of a thread that are kept from pass to pass
local RING_BYTES <const>, STAGES <const> = 196608, 3 -- of the slots of a multiprocessor; of a block

--- The least number that has to divide the columns, for groups of at most so many of them.
function M.divisor(most) return math.max(1, most // WARP) end

--- Do all warps of the cluster that has a row exchange what they have at once?
function M.meets_at_once(p)
  return p.parts > 1 and p.lanes > WARP and p.lanes // WARP * p.parts <= WARP
end

-- Threads for so many vectors, if each is to hold at most `most` of them.
local function lanes_for(vectors, most, limit)
  local lanes = 1
  while lanes < limit and lanes * most < vectors do lanes = 2 * lanes end
  return lanes
end

--- A plan with its threads chosen: what follows from them.
function M.finish(p)
  local block = p.lanes == WARP and 2 * WARP or BLOCK
  p.rows = p.shape == "warp" and math.max(1, block // p.lanes) or 1
  p.deep = cdiv(p.vectors, p.lanes * p.parts)
  p.is_whole = p.deep * p.lanes * p.parts == p.vectors
  p.keeps = p.deep * p.width <= KEPT
  p.threads = p.rows * p.lanes
  p.each = 1
  return p
end

local function chosen(p, shape, lanes, parts, why, ...)
  p.shape, p.lanes, p.parts, p.why = shape, lanes, parts, why:format(...)
  return M.finish(p)
end

-- Blocks of a multiprocessor, by their threads, that measured best.
local ring_blocks <const> = { [128] = 10, [256] = 3, [512] = 2 }

-- Rows through a ring of slots in shared memory, by TMA: for sums of columns, whose blocks take
-- many rows and have few registers left. nil: boxes do not divide the rows.
local function staged(p, problem)
  local box, parts = math.min(MOST_BOX, problem.columns_divide), 1
  local elements = problem.n_columns > 1 and 16 or 8 -- of a thread, which has a sum of each
  while parts < MOST_PARTS and (STAGES * problem.bytes * p.columns > RING_BYTES * parts
    or 4 * elements * MOST_LANES * parts < p.columns) do parts = 2 * parts end
  local boxes, part = p.columns // (box * parts), p.columns // parts
  local slot = problem.bytes * part
  local fits = box * parts * boxes == p.columns and boxes <= MOST_BOX
    and STAGES * slot <= RING_BYTES
  local is_aligned = box * problem.smallest >= WIDE_BYTES and part * problem.smallest % 128 == 0
  if not (problem.has_boxes and fits and is_aligned) then return nil end
  local most = parts > 1 and problem.n_columns == 1 and 2 * MOST_LANES or MOST_LANES
  local lanes = math.max(BLOCK, lanes_for(part, elements, most))
  p.per_sm = math.max(1, math.min(ring_blocks[lanes] or 1, RING_BYTES // (2 * slot)))
  p.stages = p.per_sm > 4 and 2 or math.min(4, RING_BYTES // (p.per_sm * slot))
  p.holds, p.box, p.boxes, p.overlaps = false, box, boxes, true
  p.keeps_columns = parts > 1
    and (p.per_sm * (p.stages * slot + part * problem.shared) <= SLOT_BYTES)
  return chosen(p, "staged", lanes, parts, "TMA brings the next rows to shared memory, while "
    .. "blocks keep sums of columns")
end

-- Threads for a row of which each has many elements, as measured: up to 512 where they also read
-- what rows share, or reduce groups of columns.
local function many_lanes(p, problem, most)
  local lanes = lanes_for(p.vectors, most // 2, MOST_LANES // 2)
  if problem.shared == 0 and not p.group and lanes * most >= p.vectors then return lanes end
  return lanes_for(p.vectors, most // 2, MOST_LANES)
end

-- The threads of a block for a row of which each has few vectors: one of several inputs, if they
-- read more than they store.
local function few_lanes(p, problem, few)
  local reads_more = few == 1 and problem.stores and problem.stored < problem.bytes
  local lanes = lanes_for(p.vectors, 1, MOST_LANES)
  if reads_more and problem.shared == 0 and lanes == p.vectors then return lanes end
  return lanes_for(p.vectors, 2 * few, 256)
end

-- A long row of bf16 with the largest element and a sum of powers. ptxas keeps what one pass has
-- made of an element for the next one, as an f32, unless that pass makes it in another way.
local function widened(p, problem)
  local lanes = lanes_for(p.vectors, WIDE_DEEP, WIDE_LANES)
  if not (problem.is_bf16 and problem.at_once) or p.group or p.width * problem.bytes ~= WIDE_BYTES
    or lanes < WIDE_LANES // 2 or lanes * WIDE_DEEP < p.vectors
    or lanes == WIDE_LANES and not problem.stores then return nil end
  p.min_blocks, p.reads_anew, p.widens = WIDE_LANES // lanes, true, true
  return chosen(p, "block", lanes, 1, "a block of %d threads holds a row", lanes)
end

-- The threads for a row of which each has many vectors, nil: it would have too many. A row that
-- several inputs make gets more threads rather than more registers for each.
local function lanes_of_many(p, problem, few, most)
  local lanes = many_lanes(p, problem, most)
  if lanes * most < p.vectors then return nil end
  local is_full = lanes * (most // 2) < p.vectors
  p.reads_anew = not problem.at_once
  if is_full and few == 1 and problem.shared > 0 and problem.stored >= problem.bytes then
    return WIDE_LANES
  end
  -- Two blocks have half of the registers each.
  p.min_blocks = problem.shared > 2 and not is_full and 2 or math.max(1, HELD_THREADS // lanes)
  return lanes
end

-- A row that a warp or a block holds in registers, or nil.
local function held(p, problem, few, most)
  local lanes = lanes_for(p.vectors, 1, 32)
  if lanes * (problem.stores and few or 2 * few) >= p.vectors then
    return chosen(p, "warp", lanes, 1, "%d threads hold a row", lanes)
  end
  lanes = math.max(LEAST_LANES, few_lanes(p, problem, few))
  if lanes * 2 * few < p.vectors then lanes = lanes_of_many(p, problem, few, most) end
  return lanes and chosen(p, "block", lanes, 1, "a block of %d threads holds a row", lanes)
end

-- How many blocks keep a row in shared memory that registers of a block could hold, nil: it has no
-- such row. Registers are few where a weight goes into narrow results, or a thread has 16 vectors.
local function crowded_parts(p, problem)
  if problem.shared == 0 or problem.bytes > 2 or problem.n_reductions == 0
    or not problem.stores then return nil end
  local is_narrow = problem.shared <= 2 and problem.stored < problem.bytes
  if is_narrow and p.vectors == LEAST_DEEP * RESIDENT_LANES then return 1 end
  if p.vectors ~= 2 * LEAST_DEEP * RESIDENT_LANES then return nil end
  return is_narrow and 2 or not p.group and 1 or nil
end

-- How many slots a thread has at most. Where all warps of a cluster send, what they have takes the
-- place of one, unless it is a number of each.
local function most_slots(p, problem, slot, parts)
  local sends_much = parts > 2 and not (p.group and problem.n_reductions == 1)
  return SLOT_BYTES // slot - (sends_much and 1 or 0)
end

-- Do slots and registers of so many blocks have room for a row?
local function has_room(p, problem, slot, parts)
  local deep = cdiv(p.vectors, RESIDENT_LANES * parts)
  return (deep - most_slots(p, problem, slot, parts)) * p.width * problem.bytes <= FEW_BYTES
end

-- How many blocks keep a row in shared memory. If rows share inputs, a pair, of which each block
-- then reads half. But long rows have four or eight, with room for two rows, if registers of a pair
-- have no room for what rows share, or its slots for a row. If there is no room for two, the fewest
-- blocks that hold one. Four keep the powers of a long softmax.
local function resident_parts(p, problem, slot)
  local row, parts = p.columns * problem.bytes, 2
  if problem.shared == 0 then
    local lanes = KEEPING_PARTS * RESIDENT_LANES
    local is_kept = problem.keeps and row >= MOST_RESIDENT and p.vectors % lanes == 0
      and p.columns <= KEPT * lanes
    if is_kept or row <= MOST_RESIDENT then return is_kept and KEEPING_PARTS or 1 end
    while parts < MOST_PARTS and not has_room(p, problem, slot, parts) do parts = 2 * parts end
    return parts
  end
  local crowded = crowded_parts(p, problem)
  if crowded then return crowded end
  local function deep() return p.vectors // (RESIDENT_LANES * parts) end
  local least = problem.shared > 2 and LEAST_CROWDED or MOST_RESIDENT
  while not p.group and row >= least and parts <= MOST_PARTS do
    local n_rows = parts == 2 and 1 or 2
    if deep() * RESIDENT_LANES * parts == p.vectors and n_rows * deep() * slot <= SLOT_BYTES
      and problem.shared * p.width * deep() <= KEPT_BYTES then return parts end
    parts = 2 * parts
  end
  parts = 2
  local function is_short_of_room()
    return deep() * slot > SLOT_BYTES and (parts > 2 or not has_room(p, problem, slot, parts)
      or problem.shared * p.width * deep() > KEPT_BYTES)
  end
  while parts < MOST_PARTS and is_short_of_room()
    and p.vectors % (RESIDENT_LANES * 2 * parts) == 0 do parts = 2 * parts end
  return parts
end

-- How many slots a thread has for its `deep` vectors of a row and what comes after them.
local function slots_for(p, problem, slot, parts, deep)
  if crowded_parts(p, problem) then
    return deep + (deep > LEAST_DEEP and CROWDED_AHEAD or parts)
  end
  local n = most_slots(p, problem, slot, parts)
  local is_long = parts > KEEPING_PARTS or deep > LEAST_DEEP
  if parts > 2 and not p.group then n = math.min(n, is_long and 2 * deep or deep + AHEAD_SLOTS) end
  -- The first cache has what rows share.
  local in_cache = problem.shared > 2 and not p.keeps_columns
  if in_cache and (parts > 2 or deep > LEAST_DEEP) then n = math.min(n, deep) end
  -- Two rows or more would all be read before the first one is stored.
  if problem.shared == 0 and n >= 2 * deep then n = deep + 1 end
  if n > math.max(deep, SINGLE_SLOTS) then n = n - n % 2 end
  if n > deep and deep % 2 == 1 then n = math.max(deep, math.min(n, SINGLE_SLOTS)) end
  return n
end

-- A row that stays in shared memory while blocks take rows in turns. nil: its vectors are too many,
-- or some threads have one less and it has groups, or rows share inputs.
local function resident(p, problem)
  local slot = RESIDENT_LANES * p.width * problem.bytes
  local parts = resident_parts(p, problem, slot)
  local deep = cdiv(p.vectors, RESIDENT_LANES * parts)
  local is_whole = p.vectors % (RESIDENT_LANES * parts) == 0
  local fits = is_whole or problem.shared == 0 and not p.group
  if not problem.has_clusters or problem.n_reductions == 0 or not fits
    or p.width * problem.smallest < WIDE_BYTES then return nil end
  local is_one = problem.bytes == problem.smallest -- input
  p.overlaps = problem.n_rows * parts <= problem.n_sms
  -- More reductions need the registers, and blocks of one row read what rows share once.
  p.keeps_columns = problem.shared > 0 and not p.overlaps
    and (problem.n_reductions == 1 or parts > 2)
    and problem.shared * p.width * deep <= (is_one and KEPT_BYTES or KEPT_OF_MANY)
  local n = slots_for(p, problem, slot, parts, deep)
  p.keeps_columns = p.keeps_columns and n >= deep
  if n == 0 or (deep - n) * p.width * problem.bytes > FEW_BYTES then return nil end
  if problem.reads_once and parts == 1 then
    p.holds, p.unroll, p.overlaps = false, deep, true
    return chosen(p, "stream", RESIDENT_LANES, 1, "a row is read once, so nothing keeps it")
  end
  p.slots, p.per_sm, p.min_blocks = n, 1, 1
  p.holds, p.in_turns, p.draws_at_once, p.warps_send = false, true, true, parts > 2
  p.keeps_powers = parts > 2 and is_whole and deep * p.width <= KEPT
  chosen(p, "resident", RESIDENT_LANES, parts, "%s keeps a row in shared memory, and brings "
    .. "the next one while it stores", parts == 1 and "a block" or parts == 2 and "a pair of blocks"
    or ("a cluster of %d blocks"):format(parts))
  p.keeps = 2 * deep * p.width <= KEPT -- registers are few, and slots are near
  return p
end

-- Is a row kept in shared memory that registers could hold? A softmax of many elements is bound by
-- exponentials, which a pass over shared memory has once less. A long loss reads all the time,
-- where a block with the row in registers would wait for it.
local function prefers_slots(p, problem)
  local many = LEAST_DEEP * RESIDENT_LANES
  if not problem.at_once or problem.shared > 0 then return crowded_parts(p, problem) end
  if problem.stores then return p.vectors >= many and p.vectors % RESIDENT_LANES == 0 end
  return p.vectors > many and problem.bytes <= 2
end

-- A row whose groups swap halves, with both halves in a thread. nil: no lanes of a warp fit.
local function swapped(p, problem)
  local lanes = math.min(WARP, problem.swap // (2 * p.width))
  if lanes < 1 or p.vectors % lanes ~= 0 or p.vectors > MOST_SWAPPED * lanes then return nil end
  p.swap = problem.swap
  return chosen(p, "warp", lanes, 1, "%d threads hold a row, and both halves of what turns", lanes)
end

-- Two rows for each thread, if that leaves many blocks: more of them come at once.
local function with_rows(p, problem)
  local has_many = problem.n_rows >= 2 * p.rows * MANY_BLOCKS
  local is_short = problem.n_reductions == 0 or p.deep <= MOST_TWICE
  if p.shape == "warp" and not p.in_turns and is_short and has_many then p.each = 2 end
  p.overlaps = (p.widens or not p.min_blocks) and not (p.swap and problem.n_reductions > 0)
  return p
end

-- The plan for a problem, without what comes ahead:
--   columns   of a row                 bytes     of one column of all inputs that have rows
--   largest, smallest  bytes of an element of what has rows
--   divides   the largest power of two, at most 16, that divides the columns and rows' strides
--   columns_divide     the same of the columns, at most 256
--   has_clusters, has_boxes   the device's, and the inputs can be boxes
--   n_reductions, n_columns   of the function: reductions of rows, sums of columns
--   stores    are there results with all columns; stored, bytes of one column of them
--   group     columns of its largest group, nil: none
--   swap      of its largest group that exchanges halves, if groups do nothing else; else 0
--   shared    bytes of one column of all inputs that rows share
--   at_once   a reduction of two steps that one pass can make, such as softmax has
--   is_bf16   all inputs that have rows are of bf16
--   keeps     a softmax is a result, whose powers can be kept
--   reads_once   there is one reduction of one step, and no other result
--   n_rows, n_sms   rows, and multiprocessors of the device
local function choose(problem)
  local p = { columns = problem.columns, holds = true, in_turns = problem.n_columns > 0,
    per_sm = 8 }
  p.width = math.max(1, math.min(WIDE_BYTES // problem.largest, problem.divides))
  p.group = problem.group
  p.vectors = p.columns // p.width
  local by_swaps = not (p.in_turns and p.columns > 512) and swapped(p, problem)
  if by_swaps then return with_rows(by_swaps, problem) end
  if p.group then p.width = math.max(p.width, M.divisor(p.group)) end
  p.vectors = p.columns // p.width
  local step = math.max(1, problem.bytes * p.width)
  local few, most = math.max(1, FEW_BYTES // step), math.max(1, MOST_BYTES // step)
  if p.in_turns and p.columns > 512 then
    local by_tma = staged(p, problem)
    if by_tma then return by_tma end
  elseif problem.n_reductions == 0 and not p.in_turns and p.vectors > 32 * few then
    local is_pair = step > WIDE_BYTES and not p.group -- as of a gate: one vector of each was faster
    local bytes = p.group and GROUP_BYTES or FLAT_BYTES
    local deep = is_pair and 1 or math.max(1, bytes // step)
    local lanes = lanes_for(p.vectors, deep, 256)
    p.is_flat, p.overlaps = true, true
    return chosen(p, "flat", lanes, cdiv(p.vectors, lanes * deep),
      "without reductions, blocks share a row freely")
  end
  local by_threads = not p.in_turns and widened(p, problem)
  if by_threads then return with_rows(by_threads, problem) end
  local in_slots = not p.in_turns and prefers_slots(p, problem) and resident(p, problem)
  if in_slots then return in_slots end
  by_threads = held(p, problem, few, most)
  if by_threads then return with_rows(by_threads, problem) end
  in_slots = not p.in_turns and resident(p, problem)
  if in_slots then return in_slots end
  -- A second reduction needs registers that a thread with more of the row does not have.
  local is_light = problem.n_reductions == 1
  local lanes, parts = is_light and 128 or 256, MOST_PARTS
  local deep = math.max(1, (is_light and MOST_BYTES or CLUSTER_BYTES) // step)
  if lanes * parts * deep < p.vectors then lanes = MOST_LANES end
  if problem.has_clusters and parts * lanes * deep >= p.vectors then
    return chosen(p, "cluster", lanes, parts, "a cluster of %d blocks holds a row", parts)
  end
  p.holds = false
  return chosen(p, "stream", 1024, 1,
    "a row is longer than what registers hold, so each pass reads it again")
end

-- What the second cache is asked for ahead, in bytes of a multiprocessor, as measured.
local AHEAD <const>, AHEAD_OF_LONG <const>, LONG <const> = 32768, 49152, 16384

-- It helps where blocks store about as much as they read. Else memory always has reads to do.
local function with_ahead(p, problem)
  local row = p.columns * problem.bytes
  local helps = problem.stored >= problem.bytes or problem.shared > 0 and row > LONG
  if not problem.has_boxes or not helps then return p end
  if p.slots then
    local bytes = p.parts == 1 and problem.shared > 0 and AHEAD_OF_LONG or AHEAD
    p.ahead = math.min(p.deep, bytes // (p.lanes * p.width * problem.bytes))
  elseif p.shape == "block" then
    p.ahead = (row > LONG and AHEAD_OF_LONG or AHEAD) * problem.n_sms // row
  end
  if p.ahead == 0 then p.ahead = nil end
  return p
end

--- The plan for such a problem.
function M.plan(problem) return with_ahead(choose(problem), problem) end

return M
