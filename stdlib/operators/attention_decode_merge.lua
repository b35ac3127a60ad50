-- attention_decode_merge.lua: partial results of attention_decode become results. A partial result
-- of a row is {O, top, sum}: O is relative to the maximum `top`, in powers of two, and not yet
-- divided by the sum of its exponentials. The warps of a block combine theirs in shared memory,
-- where a piece ends; a second kernel combines what blocks left in slots, in the order of keys.
-- A row is a query of a head of the group: row r of a head's tile is row tile * rows + r of the
-- group, query (row % n_q) of head (row // n_q).
-- In a variant: n_q, group, depth_v; rows of a tile, n_tiles of a key head; `found`: how many
-- partial results the warps of a block have of a piece.
local schedule = require "cuttle.attention_decode_schedule"
local score = require "cuttle.attention_score"
local softmax = require "cuttle.attention_softmax"
local M = {}

local WARP <const>, MERGE_WARPS <const> = 32, 4
-- Of the second kernel: a lane's columns, partial results on their way at a time, and the blocks of
-- a multiprocessor, as far as registers go; for wide rows others. Measured on an H200: 2 and 12
-- take 2 us less than 4 and 6 where 17 parts of 128 columns are to be summed up, 2 and 18 another
-- 0.3 us.
local NARROW <const> = { columns = 2, at_once = 18, resident = 4 }
local WIDE <const> = { columns = 4, at_once = 6, resident = 10 }
local MOST_NARROW <const> = 256 -- columns of a narrow row
local MOST_BLOCKS <const> = 16 -- of a head: each finds anew what there is to be summed up
local LN_2 <const> = math.log(2)

--- Of a head of the line: the key head, and the first of the tile's rows in its group.
function M.key_head(variant, head)
  if variant.n_tiles == 1 then return head, 0 end
  return head // variant.n_tiles, head % variant.n_tiles * variant.rows
end

--- Do scores get the scale of keys while they are computed: is it of each key, or not of all
--- columns?
function M.scales_keys(variant)
  return variant.k_groups ~= nil or variant.rope and variant.scaled
end

--- What a piece's scores are multiplied by: c, the scale and log2(e), and the scale of its keys, if
--- they do not have it yet.
function M.factor_of_scores(variant, k_scale, c, piece)
  if not variant.scaled or M.scales_keys(variant) then return c end
  return c * k_scale[{ M.key_head(variant, piece.head), piece.b }]
end

--- Of row r of a tile: the query, the head, and whether there is such a row.
function M.query(variant, kv_head, first, r)
  local row = first + r
  return row % variant.n_q, kv_head * variant.group + row // variant.n_q,
    row < variant.n_q * variant.group
end

--- Rows in use of the tile: all, or those of the only one.
function M.used_rows(variant)
  return math.min(variant.rows, variant.n_q * variant.group)
end

--- Shared memory for what the warps of a block combine. `ring`, if there, are f32 of rings of the
--- warps: what a warp finds is then in a free slot of its own.
function M.new_shared(variant, ring)
  local rows, stages = M.used_rows(variant), variant.stages
  local smem = { ml = shared(f32, { 2, rows, variant.found }) }
  if ring then
    local slot = size(ring) // (stages * variant.warps)
    smem.slots = shared(i32, variant.warps)
    smem.O = view(ring, layout({ variant.depth_v, rows, stages, variant.warps },
      { 1, variant.depth_v, slot, slot * stages }))
  else
    smem.O = shared(f32, { variant.depth_v, rows, variant.found })
  end
  return smem
end

--- Where what warp w found is, (column,row); slot: that of its ring, if it is in one.
function M.found(smem, w, slot)
  if smem.slots then return smem.O(_, _, slot, w) end
  return smem.O(_, _, w)
end

-- By what a partial result is to be multiplied where the maximum of all is `most`: 0 if it has no
-- keys, also where no other has any.
local function weight(top, most)
  return fast.exp2(top - where(most == -math.huge, 0.0, most))
end

-- What a row's sums are to be multiplied by where `sum` is that of its exponentials.
local function factor_of(variant, args, place, sum)
  local factor = where(sum == 0.0, 0.0, 1.0 / sum)
  if variant.scaled and not variant.v_groups then
    factor = factor * args.v_scale[{ place.kv_head, place.b }]
  end
  return factor
end

--- Of a row of columns, those of the thread in wgmma's sums, pairs of eights: (2,eights).
function M.own_pairs(row)
  local by_8 = tile(row, {8}, {_})
  return tile(by_8, {2, size(by_8, 1)}, {threadIdx.x % 4, 0})
end

--- A thread's pairs (2,n) of a row's result, which are to be divided by `sum`, from the row's
--- eights number `first` on.
function M.store_pairs(variant, args, place, sum, pairs, first)
  local query, head, is_there = M.query(variant, place.kv_head, place.first_row, place.row)
  if is_there then
    local factor, to = factor_of(variant, args, place, sum), M.own_pairs(args.O(query, _, head,
      place.b))
    local pair = fragment(args.O.dtype, 2)
    for j in range(size(pairs, 1)) do
      for i = 0, 1 do pair[i] = cast(pairs[{i, j}] * factor, args.O.dtype) end
      copy(pair, to(_, first + j))
    end
  end
end

local function store_row(variant, args, place, d, value, sum)
  local query, head, is_there = M.query(variant, place.kv_head, place.first_row, place.row)
  if is_there then
    local factor = factor_of(variant, args, place, sum)
    args.O[{ query, d, head, place.b }] = cast(value * factor, args.O.dtype)
  end
end

--- The logarithm of a row's sum of exponentials.
function M.store_lse(variant, args, place, top, sum)
  local query, head, is_there = M.query(variant, place.kv_head, place.first_row, place.row)
  if is_there then
    args.LSE[{ query, head, place.b }] = where(sum == 0.0, -math.huge, (top + log2(sum)) * LN_2)
  end
end

--- The maximum and the sum of a row with its head's sink, and by what the sums before shrink; nil:
--- there are no sinks.
function M.with_sink(variant, args, place, top, sum)
  local _, head = M.query(variant, place.kv_head, 0, min(place.first_row + place.row,
    variant.n_q * variant.group - 1))
  local sink = score.sink(variant, args.operands, { head = head, b = place.b })
  if sink == nil then return top, sum end
  return softmax.with_sink(top, sum, sink)
end

local function shrunk(value, shrink)
  if shrink == nil then return value end
  return value * shrink
end

-- Of a row, over n warps: the maximum, the sum, and the weights of the warps' results.
local function total(n, smem, row)
  local top, sum, weights = f32(-math.huge), f32(0.0), {}
  for w = 0, n - 1 do top = max(top, smem.ml[{ 0, row, w }]) end
  for w = 0, n - 1 do
    weights[w] = weight(smem.ml[{ 0, row, w }], top)
    sum = sum + smem.ml[{ 1, row, w }] * weights[w]
  end
  return top, sum, weights
end

-- What the warps found of a row: {[warp] = its columns}.
local function columns_of(n, smem, row)
  local found = {}
  for w = 0, n - 1 do found[w] = M.found(smem, w, smem.slots and smem.slots[w])(_, row) end
  return found
end

-- The weighted sum of column d, which is to be divided by the sum.
local function value_of(found, d, weights)
  local value = f32(0.0)
  for w = 0, #found do value = value + found[w][d] * weights[w] end
  return value
end

-- Columns of a row that a warp combines at a time: fewer than all if warps had nothing to do.
local function width_of(variant)
  local rows, depth = M.used_rows(variant), variant.depth_v
  local width = cdiv(depth, WARP) * WARP
  while width > WARP and rows * cdiv(depth, width) < variant.warps do
    width = cdiv(width, 2 * WARP) * WARP
  end
  return width
end

-- The columns from `first` on of a row: results, or a partial one.
local function finish_row(variant, args, smem, piece, place, first)
  local row, last = place.row, min(first + width_of(variant), variant.depth_v)
  local top, sum, weights = total(variant.found, smem, row)
  local found, mine = columns_of(variant.found, smem, row), first + threadIdx.x % WARP
  if piece.is_whole then
    local most, all, shrink = M.with_sink(variant, args, place, top, sum)
    for d in range(mine, last, WARP) do
      store_row(variant, args, place, d, shrunk(value_of(found, d, weights), shrink), all)
    end
    if variant.lse and mine == 0 then M.store_lse(variant, args, place, most, all) end
  else
    for d in range(mine, last, WARP) do
      args.parts[{ d, row, piece.slot }] = value_of(found, d, weights)
    end
    if mine == 0 then
      args.ml[{ 0, row, piece.slot }], args.ml[{ 1, row, piece.slot }] = top, sum
    end
  end
end

--- Behind a barrier, the results of the block's warps for a piece go where they belong.
function M.finish_piece(variant, args, smem, piece)
  local kv_head, first_row = M.key_head(variant, piece.head)
  local n_rows, width = M.used_rows(variant), width_of(variant)
  for i in range(threadIdx.x // WARP, n_rows * cdiv(variant.depth_v, width), variant.warps) do
    local place = { b = piece.b, kv_head = kv_head, first_row = first_row, row = i % n_rows }
    finish_row(variant, args, smem, piece, place, i // n_rows * width)
  end
end

-- {====== The second kernel: a warp for each row and 128 columns of what may be in parts ======
-- It is launched before the first kernel ends. On an H200, its blocks began when the first of that
-- kernel's blocks had ended, and found what they sum up before the others had.

-- Of a lane, column j from `first` on.
local function column(first, j) return first + threadIdx.x % WARP + j * WARP end

local function shape_of(variant) return variant.depth_v > MOST_NARROW and WIDE or NARROW end

-- The lane's columns of a partial result, and {maximum, sum}; nothing of number `i` >= n.
local function load_partial(variant, args, place, i, n, slot_of)
  local slot, row = slot_of(min(i, n - 1)), place.row
  local columns = shape_of(variant).columns
  local x = { O = fragment(f32, columns) }
  for j = 0, columns - 1 do
    local d = min(column(place.first_column, j), variant.depth_v - 1)
    x.O[j] = args.parts[{ d, row, slot }]
  end
  x.top = where(i < n, args.ml[{ 0, row, slot }], -math.huge)
  x.sum = args.ml[{ 1, row, slot }]
  return x
end

-- The sum of all partial results.
local function sum_partials(variant, args, place, n, slot_of, out)
  local top, sum, at_once = f32(-math.huge), f32(0.0), shape_of(variant).at_once
  for first in range(0, n, at_once) do
    local some, most = {}, top
    for i = 0, at_once - 1 do
      some[i] = load_partial(variant, args, place, first + i, n, slot_of)
    end
    for i = 0, at_once - 1 do most = max(most, some[i].top) end
    local w = weight(top, most)
    sum = sum * w
    for j = 0, size(out) - 1 do out[j] = out[j] * w end
    for i = 0, at_once - 1 do
      w = weight(some[i].top, most)
      sum = sum + w * some[i].sum
      for j = 0, size(out) - 1 do out[j] = out[j] + w * some[i].O[j] end
    end
    top = most
  end
  return top, sum
end

local function merge_row(variant, args, place, n, slot_of)
  local columns = shape_of(variant).columns
  local out = fragment(f32, columns)
  clear(out)
  local top, sum = sum_partials(variant, args, place, n, slot_of, out)
  local most, all, shrink = M.with_sink(variant, args, place, top, sum)
  for j = 0, columns - 1 do
    local d = column(place.first_column, j)
    if d < variant.depth_v then
      store_row(variant, args, place, d, shrunk(out[j], shrink), all)
    end
  end
  if variant.lse and column(place.first_column, 0) == 0 then
    M.store_lse(variant, args, place, most, all)
  end
end

-- Of a head, the parts of rows that warps take one at a time.
local function row_parts(variant)
  return M.used_rows(variant) * cdiv(variant.depth_v, shape_of(variant).columns * WARP)
end

--- The kernel that writes the results of heads in several parts.
function M.make(variant)
  return kernel("attention_decode_merge", function(lengths, capacity, n_parts, parts, ml, O, LSE,
                                                   v_scale, ...)
    local args = { lengths = lengths, capacity = capacity, n_parts = n_parts, parts = parts,
                   ml = ml, O = O, LSE = LSE, v_scale = v_scale, operands = { ... } }
    grid_dependency_launch()
    local found, slot_of = schedule.partials(variant, args, blockIdx.y)
    local kv_head, first_row = M.key_head(variant, found.head)
    local n_rows = M.used_rows(variant)
    local first = blockIdx.x * MERGE_WARPS + threadIdx.x // WARP
    grid_dependency_wait()
    if found.n > 0 then
      for i in range(first, row_parts(variant), gridDim.x * MERGE_WARPS) do
        local place = { b = found.b, kv_head = kv_head, first_row = first_row, row = i % n_rows,
                        first_column = i // n_rows * (shape_of(variant).columns * WARP) }
        merge_row(variant, args, place, found.n, slot_of)
      end
    end
  end, { min_blocks = shape_of(variant).resident })
end

--- Its launch.
function M.step(p, kernel, variant, n_parts, args)
  return { kernel = kernel,
           launch = { grid = { math.min(cdiv(row_parts(variant), MERGE_WARPS), MOST_BLOCKS),
                               schedule.n_merges(variant, p.batches, n_parts) },
                      block = WARP * MERGE_WARPS, stream = p.stream, pdl = p.has_pdl },
           args = args }
end

return M
