-- attention_backward_rows.lua: what the gradients of attention need of each query before their
-- sums: L = LSE log2(e), and D, the sum of dO O over the depth, as P = exp2(c S - L) and
-- dS = P (dP - D). L is infinite, and so P is 0, where a query sees no key and behind the last one.
-- Also makes a sum's elements 0, and counters of turns, where they are given.
local memo = require "cuttle.memo"
local packed = require "cuttle.attention_backward_packed"
local on_device = require "cuttle.operator_device"
local scores = require "cuttle.attention_score"
local M = {}

local LOG2_E <const> = 1 / math.log(2)
local WARP <const>, THREADS <const> = 32, 256

local function lanes_for(depth, width)
  local lanes = 1
  while lanes < WARP and lanes * width < depth do lanes = 2 * lanes end
  return lanes
end

--- Piece i of row `row` of the sum, `width` elements, becomes 0.
function M.clear_piece(sum, row, h, b, i, width)
  local zero = fragment(f32, width)
  clear(zero)
  copy(zero, tile(sum(row, _, h, b), {width}, {i}))
end

--- L of a query whose logarithm of the sum is `lse`.
function M.to_base_2(lse) return where(lse == -math.huge, f32(math.huge), lse * LOG2_E) end

-- The lane's part of a row that has no query.
local function clear_row(variant, t, lane, lanes, row)
  for i in range(lane, variant.depth // variant.width, lanes) do
    M.clear_piece(t.sum, row, t.h, t.b, i, variant.width)
  end
end

-- The sum over the values' depth of dO O, `width` elements at a time, by so many lanes: the lane's
-- part of row `from`. The elements of row `to` of the sum become 0.
local function product_of(variant, t, lane, lanes, from, to)
  local width, h, b = variant.width, t.h, t.b
  local total, is_one = 0.0, variant.depth_v == variant.depth
  for i in range(lane, variant.depth_v // width, lanes) do
    local x, y = fragment(t.O.dtype, width), fragment(t.dO.dtype, width)
    copy(tile(t.O(from, _, h, b), {width}, {i}), x)
    copy(tile(t.dO(from, _, h, b), {width}, {i}), y)
    for j = 0, width - 1 do total = total + cast(x[j], f32) * cast(y[j], f32) end
    if variant.has_sum and is_one then M.clear_piece(t.sum, to, h, b, i, width) end
  end
  if variant.has_sum and not is_one then clear_row(variant, t, lane, lanes, to) end
  return total
end

-- Where the row's queries are, and whether it has one.
local function source_of(variant, t, row)
  if not variant.packed then return row, row < size(t.O, 0) end
  local from, is_there = packed.row_of(t.tiles, min(row, size(t.L, 0) - 1), variant.rows)
  return from, is_there and row < size(t.L, 0)
end

-- Nobody has had a turn yet at the tile of queries that begins with the row.
local function clear_counters(variant, counters, row, h, b)
  if row % variant.rows == 0 then
    for group = 0, size(counters, 1) - 1 do
      counters[{row // variant.rows, group, h, b}] = 0
    end
  end
end

-- The counters of attention_backward_idle.lua.
local function clear_ready(ready)
  if blockIdx.x == 0 and blockIdx.y == 0 then
    for i in range(threadIdx.x, size(ready), THREADS) do ready[i] = 0 end
  end
end

-- The head and batch of a block in a grid (_,H,B); where `fused` (_,n), of the first n heads of
-- all batches.
local function head_of(variant, O)
  if not variant.fused then return blockIdx.y, blockIdx.z end
  return blockIdx.y % size(O, 2), blockIdx.y // size(O, 2)
end

local function run(variant, t)
  local lanes = lanes_for(variant.depth_v, variant.width)
  local row, lane = (blockIdx.x * THREADS + threadIdx.x) // lanes, threadIdx.x % lanes
  t.h, t.b = head_of(variant, t.O)
  if variant.fused then clear_ready(t.ready) end
  local h, b = t.h, t.b
  local from, is_there = source_of(variant, t, row)
  local total = 0.0
  if is_there then
    total = product_of(variant, t, lane, lanes, from, row)
  elseif variant.packed and variant.has_sum then
    if row < size(t.sum, 0) then clear_row(variant, t, lane, lanes, row) end
  end
  total = warp_reduce(total, "add", lanes)
  if lane == 0 and row < size(t.L, 0) then
    local l = f32(math.huge)
    if is_there then
      l = M.to_base_2(cast(t.LSE[{from, h, b}], f32))
    end
    t.L[{row, h, b}], t.D[{row, h, b}] = l, total
    if variant.has_turns then clear_counters(variant, t.counters, row, h, b) end
  end
end

local function make(variant)
  local name = "attention_backward_rows"
  if variant.fused then
    return kernel(name, function(O, dO, LSE, L, D, sum, tiles, counters, ready)
      run(variant, { O = O, dO = dO, LSE = LSE, L = L, D = D, sum = sum, tiles = tiles,
                     counters = counters, ready = ready })
    end)
  end
  if variant.packed or variant.has_turns then
    return kernel(name, function(O, dO, LSE, L, D, sum, tiles, counters)
      run(variant, { O = O, dO = dO, LSE = LSE, L = L, D = D, sum = sum, tiles = tiles,
                     counters = counters })
    end)
  end
  return kernel(name, function(O, dO, LSE, L, D, sum)
    run(variant, { O = O, dO = dO, LSE = LSE, L = L, D = D, sum = sum })
  end)
end

local kernel_of = memo.by_fields({ "depth", "depth_v", "width", "rows", "has_sum", "packed",
  "has_turns", "fused" }, make)

--- A tensor of those extents, each mode's stride as in memory, on the problem's device.
function M.new(p, extents, dtype)
  local strides, n = {}, 1
  for i, extent in ipairs(extents) do strides[i], n = n, n * extent end
  return on_device.new(p.device, dtype or f32, layout(extents, strides))
end

--- The tiles of so many queries.
function M.n_tiles(p, rows)
  return p.sequences and packed.n_tiles(p, rows) or cdiv(p.n_q, rows)
end

--- The launch, and L and D (S,H,B) with room for rows in tiles of so many, each of one sequence;
--- `width` elements of depth have adjacent addresses; `sum` is (S,D,H,B), or nil; `counters` of
--- turns, or nil, are (tiles,groups,H,B). fused: {lead =, ready =} of attention_backward_idle.lua,
--- or nil.
function M.step(p, rows, width, sum, counters, fused)
  local variant = { depth = p.depth, depth_v = p.depth_v, width = width, rows = rows,
                    has_sum = sum ~= nil, packed = p.sequences ~= nil and rows > 1,
                    has_turns = counters ~= nil, fused = fused ~= nil }
  local padded = M.n_tiles(p, rows) * rows
  local L, D = M.new(p, { padded, p.heads, p.batches }), M.new(p, { padded, p.heads, p.batches })
  local lanes = lanes_for(p.depth_v, width)
  local args = { p.O, p.dO, p.LSE, L, D, sum or L }
  if variant.packed or variant.has_turns or fused then
    args[7], args[8] = variant.packed and packed.tiles(p, rows) or L, counters or L
  end
  local heads, batches = p.heads, p.batches
  if fused then
    args[9] = fused.ready
    heads, batches = fused.lead * (p.heads // p.kv_heads), 1
  end
  return { kernel = kernel_of(variant),
           launch = { grid = { cdiv(padded * lanes, THREADS), heads, batches },
                      block = THREADS, stream = p.stream },
           args = args }, L, D
end

--- Memory for sums (S,D,H,B) of f32, D contiguous; of packed sequences of whole tiles.
function M.new_sum(p, rows)
  local n = p.sequences and M.n_tiles(p, rows) * rows or p.n_q
  return select(M.new(p, { p.depth, n, p.heads, p.batches }), 1, 0, 2, 3)
end

--- The launches where a kernel `two.dQ` goes through tiles of queries, and another one, `two.dKV`,
--- through tiles of keys. `own`: tile, the rows of one; rows, as in `step`; block, its threads;
--- takes_blocks: the kernels have the parameter `blocks` also where sequences are not packed.
function M.two_kernels(p, two, own)
  local before, L, D = M.step(p, own.rows, 1)
  local function launch_of(length, heads)
    local n, blocks = cdiv(p[length], own.tile), own.takes_blocks and L or nil
    if p.sequences then
      blocks = packed.blocks(p, length, own.tile, own.rows)
      n = size(blocks, 1)
    end
    return blocks, { grid = { n, heads, p.batches }, block = own.block, stream = p.stream }
  end
  local of_queries, by_queries = launch_of("n_q", p.heads)
  local of_keys, by_keys = launch_of("n_k", p.kv_heads)
  local group, c, scale = p.heads // p.kv_heads, scores.factor(p), f32(p.scale)
  return { before,
    { kernel = two.dQ, launch = by_queries,
      args = { p.Q, p.K, p.V, p.dO, L, D, p.dQ, group, c, scale, of_queries,
               scores.operands(p) } },
    { kernel = two.dKV, launch = by_keys,
      args = { p.Q, p.K, p.V, p.dO, L, D, p.dK, p.dV, group, c, scale, of_keys,
               scores.operands(p) } } }
end

return M
