-- attention_backward_tiles.lua: which tiles of queries a block of attention_backward_hopper.lua
-- goes through, where its part of dQ goes, and what of the tiles in shared memory is a group's.
local packed = require "cuttle.attention_backward_packed"
local M = {}

local KEYS <const> = 64 -- of a group

--- Blocks of a cluster that share dQ: attention_backward_pair.lua.
M.PAIR = 2

local HEADS_AT_ONCE <const> = 4 -- measured on an H200: 8 % faster than 1 for 16 heads of 8192

--- Heads whose blocks come in turn, not one head after the other.
function M.heads_at_once(variant)
  return variant.causal and HEADS_AT_ONCE or 1
end

--- The tile of keys, key head and batch of tile i of all, where a head has n, one after the other.
function M.place_of(i, n, kv_heads)
  local head = i // n
  return i % n, head % kv_heads, head // kv_heads
end

-- The same where causal: the first keys have the most tiles of queries to go through. So a few
-- heads come at once: first blocks of their first keys, last those of their last ones, which are
-- short; with turns it is the other way round. There are so many heads in all batches.
local function causal_place_of(variant, i, n, kv_heads, heads, at_once)
  local high, rank = 1, 0 -- tiles of keys that come together
  if variant.pair then
    high = M.PAIR
    n, i, rank = n // high, i // high, i % high
  end
  local first = i // (n * at_once) * at_once
  local width, at = min(at_once, heads - first), i - first * n
  local head = first + at % width
  return at // width * high + rank, head % kv_heads, head // kv_heads
end

--- The block's tile of keys, key head and batch, where so many heads read a key head. With turns,
--- one head at a time is faster by_depth, and where more than one head reads a key head.
function M.own_block(variant, group)
  if M.heads_at_once(variant) == 1 then
    return blockIdx.x, blockIdx.y, blockIdx.z
  end
  local n, one, at_once = gridDim.x, M.of_first_lane, HEADS_AT_ONCE
  if variant.deterministic then
    at_once = variant.by_depth and 1 or where(group > 1, 1, HEADS_AT_ONCE)
  end
  local i = blockIdx.x + n * (blockIdx.y + gridDim.y * blockIdx.z)
  local tile, head, batch = causal_place_of(variant, i, n, gridDim.y, gridDim.y * gridDim.z,
    at_once)
  return one(tile), one(head), one(batch)
end

M.boxes = require "cuttle.attention_hopper_store".boxes

function M.of_first_lane(x) return shfl_idx(x, 0) end

-- The tiles of queries that see one of the block's keys by masks and scores: the first, and the one
-- behind the last. All, where blocks take turns.
local function tiles_of(variant, args)
  local n_tiles = cdiv(args.n_q, variant.rows)
  if variant.deterministic then return 0, n_tiles end
  local key = args.n * args.keys
  local from, to = variant.score:queries(args.operands, key, key + args.keys, args)
  return from == nil and 0 or max(from, 0) // variant.rows,
    to == nil and n_tiles or min(n_tiles, cdiv(max(to, 0), variant.rows))
end

-- The number of a head's tile i: that of the list, if there is one.
function M.tile_in(list, i)
  if list == nil then return i end
  return list[2 + i]
end

-- Calls f(head, first, last) for each head that reads the block's keys, of tiles of queries that
-- see one; or f(head, 0, n, list), where a list of attention_blocks.lua has the n tiles.
function M.each_head(variant, args, f)
  local first, last = 0, nil
  if args.list ~= nil then
    for head in range(args.kv_head * args.group, (args.kv_head + 1) * args.group) do
      local list = args.list(_, args.n, head, args.b)
      f(head, 0, list[0] + list[1], list)
    end
    return
  elseif variant.score then
    first, last = tiles_of(variant, args)
  elseif variant.causal then
    local n = variant.pair and args.n // M.PAIR * M.PAIR or args.n
    first = max(n * args.keys - (args.n_k - args.n_q), 0) // variant.rows
  end
  if variant.tail then
    local n_tiles = cdiv(args.n_q, variant.rows)
    first, last = args.part * n_tiles // args.n_parts, (args.part + 1) * n_tiles // args.n_parts
  end
  for head in range(args.kv_head * args.group, (args.kv_head + 1) * args.group) do
    f(head, first, last or cdiv(args.n_q, variant.rows))
  end
end

-- Of pieces of dQ that have plan.columns of the depth, the first of group `number`.
function M.first_piece(variant, plan, number)
  if variant.pair then number = number + variant.groups * M.of_first_lane(cluster_rank()) end
  return number * plan.parts
end

-- Piece i of a group's part of a tile's dQ; gdQ has the boxes of the head's sum.
function M.piece_of(variant, plan, args, gdQ, number, m, i)
  local tile_of = packed.tile_at(args, m)
  if variant.by_rows then return gdQ(_, _, tile_of * variant.groups + number, 0) end
  return gdQ(_, _, tile_of, M.first_piece(variant, plan, number) + i)
end

-- The boxes of a head's sum of dQ.
function M.pieces(plan, args, head)
  return M.boxes(args.dQ, {plan.rows, plan.columns})(_, _, _, _, head, args.batch)
end

--- What of the tiles in shared memory is the group's: its keys, or by_depth its queries and
--- columns.
function M.of_group(variant, plan, smem, number)
  local rows, depth = variant.rows, variant.depth
  local function columns_of(i)
    return tile(select(smem.K, 1, 0), {plan.columns, plan.keys}, {i, 0})
  end
  if not variant.by_depth then
    local sK, sV = tile(smem.K, {KEYS, depth}, {number, 0}),
      tile(smem.V, {KEYS, depth}, {number, 0})
    local at = variant.by_rows and number or 0
    local dS_rows = tile(select(smem.dS, 1, 0, 2), {plan.rows, plan.keys, plan.slots}, {at, 0, 0})
    return { K = sK, V = sV, own_K = sK, own_V = sV, Q = smem.Q, dO = smem.dO,
             Qt = select(smem.Q, 1, 0, 2), dOt = select(smem.dO, 1, 0, 2),
             to_dS = tile(smem.dS, {KEYS, rows}, {number, 0}),
             Kt = { columns_of(variant.by_rows and 0 or number) },
             dSt = dS_rows }
  end
  local function queries_of(s)
    return tile(s, {plan.own_rows, size(s, 1), size(s, 2)}, {number, 0, 0})
  end
  -- What the products of dV and dK multiply of the queries of group i: P', dS', and dO and Q
  -- transposed.
  local function of_group(i)
    local function transposed(s, columns)
      return tile(select(s, 1, 0, 2), {columns, plan.own_rows, size(s, 2)}, {number, i, 0})
    end
    local function scores_of(s) return tile(s, {KEYS, plan.own_rows, plan.slots}, {0, i, 0}) end
    return { P = variant.pair and smem.P_of(number) or scores_of(smem.P), dS = scores_of(smem.dS),
             dOt = transposed(smem.dO, plan.own_depth_v), Qt = transposed(smem.Q, plan.own_depth) }
  end
  local function own(s, columns) return tile(s, {KEYS, columns}, {0, number}) end
  local own_dS = {KEYS, plan.own_rows}
  local t = { K = smem.K, V = smem.V, own_K = own(smem.K, plan.own_depth),
              own_V = own(smem.V, plan.own_depth_v), Q = queries_of(smem.Q),
              dO = queries_of(smem.dO),
              mine = of_group(number), other = of_group(1 - number),
              to_P = variant.pair and smem.P_of(1 - number) or tile(smem.P, own_dS, {0, number}),
              to_dS = tile(smem.dS, own_dS, {0, number}), dSt = select(smem.dS, 1, 0, 2), Kt = {} }
  local first = M.first_piece(variant, plan, number)
  for i = 1, plan.parts do t.Kt[i] = columns_of(first + i - 1) end
  return t
end

return M
