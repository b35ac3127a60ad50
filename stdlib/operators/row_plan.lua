-- row_plan.lua: how threads share the rows of a row_kernel. A plan is
--   columns   of the problem                 width    elements of a vector
--   vectors   of a row                       lanes    threads of a row in a block
--   rows      of a block                     parts    blocks of a cluster that share a row
--   deep      vectors of a thread            holds    in registers, or read again in each pass
--   is_whole  the threads' vectors are the row's, with none left over
--   is_flat   blocks that share a row are no cluster, as nothing is reduced
--   in_turns  blocks take rows in turns      stages   slots of shared memory for parts of rows
--   box, boxes  elements of a box, and boxes of a part
--   per_sm    blocks in turns of a multiprocessor
--   min_blocks  that a multiprocessor has to hold, which limits a thread's registers; nil: no limit
--   group     columns of the largest group that is reduced, which lies in the lanes of one warp;
--             nil: no groups
--   shape, why  for explain
local M = {}

local WIDE_BYTES <const>, BLOCK <const>, WARP <const> = 16, 128, 32
local FEW_BYTES <const>, MOST_BYTES <const> = 32, 256 -- of a row in a thread's registers
local FLAT_BYTES <const>, CLUSTER_BYTES <const> = 64, 128 -- without reductions; in a cluster
local LEAST_LANES <const> = 64 -- of a block
local HELD_THREADS <const> = 512 -- of a multiprocessor, with the registers for MOST_BYTES each
local MOST_LANES <const> = 512 -- threads that hold a row with MOST_BYTES each
local MOST_PARTS <const> = 8 -- more blocks in a cluster need a permission
local MOST_BOX <const> = 256 -- elements of a box along a mode
local KEPT <const> = 32 -- elements of a thread that are kept from pass to pass
local RING_BYTES <const>, STAGES <const> = 196608, 3 -- of the slots of a multiprocessor; of a block

--- The least number that has to divide the columns, for groups of at most so many of them.
function M.divisor(most) return math.max(1, most // WARP) end

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
  local lanes = math.max(BLOCK, lanes_for(part, elements, MOST_LANES))
  p.per_sm = math.max(1, math.min(ring_blocks[lanes], RING_BYTES // (2 * slot)))
  p.stages = p.per_sm > 4 and 2 or math.min(4, RING_BYTES // (p.per_sm * slot))
  p.holds, p.box, p.boxes = false, box, boxes
  return chosen(p, "staged", lanes, parts, "TMA brings the next rows to shared memory, while "
    .. "blocks keep sums of columns")
end

-- A row that a warp or a block holds in registers, or nil.
local function held(p, few, most, stores)
  local lanes = lanes_for(p.vectors, 1, 32)
  if lanes * (stores and few or 2 * few) >= p.vectors then
    return chosen(p, "warp", lanes, 1, "%d threads hold a row", lanes)
  end
  lanes = math.max(LEAST_LANES, lanes_for(p.vectors, 2 * few, 256))
  if lanes * 2 * few < p.vectors then
    lanes = lanes_for(p.vectors, most, MOST_LANES)
    if lanes * most < p.vectors then return nil end
    p.min_blocks = math.max(1, HELD_THREADS // lanes)
  end
  return chosen(p, "block", lanes, 1, "a block of %d threads holds a row", lanes)
end

--- The plan for a problem:
---   columns   of a row                 bytes     of one column of all inputs that have rows
---   largest, smallest  bytes of an element of what has rows
---   divides   the largest power of two, at most 16, that divides the columns and rows' strides
---   columns_divide     the same of the columns, at most 256
---   has_clusters, has_boxes   the device's, and the inputs can be boxes
---   n_reductions, n_columns   of the function: reductions of rows, sums of columns
---   stores    are there results with all columns
---   group     columns of its largest group, nil: none
function M.plan(problem)
  local p = { columns = problem.columns, holds = true, in_turns = problem.n_columns > 0,
    per_sm = 8 }
  p.width = math.max(1, math.min(WIDE_BYTES // problem.largest, problem.divides))
  p.group = problem.group
  if p.group then p.width = math.max(p.width, M.divisor(p.group)) end
  p.vectors = p.columns // p.width
  local step = math.max(1, problem.bytes * p.width)
  local few, most = math.max(1, FEW_BYTES // step), math.max(1, MOST_BYTES // step)
  if p.in_turns and p.columns > 512 then
    local by_tma = staged(p, problem)
    if by_tma then return by_tma end
  elseif problem.n_reductions == 0 and not p.in_turns and p.vectors > 32 * few then
    local deep = math.max(1, FLAT_BYTES // step)
    local lanes = lanes_for(p.vectors, deep, 256)
    p.is_flat = true
    return chosen(p, "flat", lanes, cdiv(p.vectors, lanes * deep),
      "without reductions, blocks share a row freely")
  end
  local by_threads = held(p, few, most, problem.stores)
  if by_threads then return by_threads end
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

return M
