-- attention_backward_plain.lua: the gradients of attention on any device, of any float type and
-- depth, by plain arithmetic: one kernel for dQ, one for dK and dV, which compute the scores again.
-- A warp owns ROWS queries, or keys; a block's warps share blocks of the others, one for each lane.
local packed = require "cuttle.attention_backward_packed"
local plain = require "cuttle.attention_plain"
local rows = require "cuttle.attention_backward_rows"
local M = {}

local LANES <const>, WARPS <const>, ROWS <const> = 32, 4, 4
local TILE <const> = WARPS * ROWS
local load_rows, add_rows = plain.load_rows, plain.add_rows

function M.trouble() end

function M.variant(p) return { depth = p.depth, depth_v = p.depth_v } end

local function new_tile(n, depth) return shared(f32, layout({n, depth}, {depth + 1, 1})) end

-- Rows that a block owns, and those of which a lane has one: of one head, two tensors each, of
-- which the second has the values' depth.
local function new_rows(depth, depth_v)
  return { own = { new_tile(TILE, depth), new_tile(TILE, depth_v) },
           other = { new_tile(LANES, depth), new_tile(LANES, depth_v) } }
end

-- Does the query see the key? Numbers of a head.
local function sees(variant, query, key, n_q, n_k)
  local seen = query < n_q and key < n_k
  if variant.causal then seen = seen and key <= query + n_k - n_q end
  return seen
end

-- The products of the warp's row r with the lane's row: those of scores, and of dO with V.
local function products(at, variant, row, lane)
  local depth, depth_v, s, dp = variant.depth, variant.depth_v, 0.0, 0.0
  for d in range(depth) do
    s = s + at.own[1][{row, d}] * at.other[1][{lane, d}]
    if depth == depth_v then dp = dp + at.own[2][{row, d}] * at.other[2][{lane, d}] end
  end
  if depth ~= depth_v then
    for d in range(depth_v) do dp = dp + at.own[2][{row, d}] * at.other[2][{lane, d}] end
  end
  return s, dp
end

local function store_rows(sums, t, depth, first, lane, factor)
  for r = 0, ROWS - 1 do
    if first + r < size(t, 0) then
      for i = 0, cdiv(depth, LANES) - 1 do
        local d = i * LANES + lane
        if depth % LANES == 0 or d < depth then
          t[{first + r, d}] = cast(sums[{i, r}] * factor, t.dtype)
        end
      end
    end
  end
end

-- P and dS of a query's and a key's products; load() returns L and D of the query.
local function weights(seen, s, dp, load, c)
  local l, d = load()
  local p = where(seen, exp2(s * c - l), 0.0)
  return p, p * (dp - d)
end

-- Where the block's tile is: its number, and of its sequence the lengths and the first query;
-- queries(t, head) and keys(t, head) are the sequence's part (S,D) of a head.
local function place_of(variant, Q, K, blocks)
  local b = blockIdx.z
  local function whole(t, head) return t(_, _, head, b) end
  if not variant.packed then
    return { n = blockIdx.x, n_q = size(Q, 0), n_k = size(K, 0), q = 0, b = b, queries = whole,
             keys = whole }
  end
  local at = packed.read(variant, blocks, blockIdx.x, function(x) return x end)
  function at.queries(t, head) return packed.part(whole(t, head), at.q, at.n_q) end
  function at.keys(t, head) return packed.part(whole(t, head), at.k, at.n_k) end
  return at
end

-- P and dS of the block's query and key, of head h; load() returns L and D of the query.
local function weights_of(variant, operands, place, h, query, key, s, dp, load, c)
  local n_q, n_k = place.n_q, place.n_k
  if variant.score then
    local l, d = load()
    return variant.score:weights(operands, { q = query, k = key, h = h, b = place.b, n_q = n_q,
      n_k = n_k }, s, dp, l, d, c, true, exp2)
  end
  return weights(sees(variant, query, key, n_q, n_k), s, dp, load, c)
end

-- From where to where the n others go that the tile of rows from `first` on sees, in steps of
-- LANES; of := "range", keys, or "queries".
local function seen_by(variant, operands, place, of, first, n)
  local from, to = variant.score[of](variant.score, operands, first, first + TILE, place)
  return from == nil and 0 or max(from, 0) // LANES * LANES,
    to == nil and n or max(0, min(n, to))
end

local function make_dQ(variant)
  local depth, depth_v = variant.depth, variant.depth_v
  local function run(Q, K, V, dO, L, D, dQ, group, c, scale, blocks, ...)
    local operands = {...}
    local h, b, lane, warp = blockIdx.y, blockIdx.z, threadIdx.x % LANES, threadIdx.x // LANES
    local at, place = new_rows(depth, depth_v), place_of(variant, Q, K, blocks)
    local n_q, n_k, first = place.n_q, place.n_k, place.n * TILE
    load_rows(place.queries(Q, h), at.own[1], TILE, depth, first)
    load_rows(place.queries(dO, h), at.own[2], TILE, depth_v, first)
    local sums, factors = fragment(f32, {cdiv(depth, LANES), ROWS}), fragment(f32, ROWS)
    clear(sums)
    local from, seen = 0, n_k
    if variant.score then
      from, seen = seen_by(variant, operands, place, "range", first, n_k)
    elseif variant.causal then
      seen = max(0, min(seen, min(first + TILE, n_q) + n_k - n_q))
    end
    for k in range(from, seen, LANES) do
      sync_threads()
      load_rows(place.keys(K, h // group), at.other[1], LANES, depth, k)
      load_rows(place.keys(V, h // group), at.other[2], LANES, depth_v, k)
      sync_threads()
      for r = 0, ROWS - 1 do
        local row = warp * ROWS + r
        local query = min(first + row, n_q - 1)
        local s, dp = products(at, variant, row, lane)
        local _, ds = weights_of(variant, operands, place, h, first + row, k + lane, s, dp,
          function() return L[{place.q + query, h, b}], D[{place.q + query, h, b}] end, c)
        factors[r] = ds
      end
      add_rows(sums, factors, at.other[1], depth, lane)
    end
    store_rows(sums, place.queries(dQ, h), depth, first + warp * ROWS, lane, scale)
  end
  if variant.score or variant.packed then
    return kernel("attention_backward_dQ",
      function(Q, K, V, dO, L, D, dQ, group, c, scale, blocks, ...)
        run(Q, K, V, dO, L, D, dQ, group, c, scale, blocks, ...)
      end)
  end
  return kernel("attention_backward_dQ", function(Q, K, V, dO, L, D, dQ, group, c, scale)
    run(Q, K, V, dO, L, D, dQ, group, c, scale)
  end)
end

local function make_dKV(variant)
  local depth, depth_v = variant.depth, variant.depth_v
  local function run(Q, K, V, dO, L, D, dK, dV, group, c, scale, blocks, ...)
    local operands = {...}
    local kv, b, lane, warp = blockIdx.y, blockIdx.z, threadIdx.x % LANES, threadIdx.x // LANES
    local at, place = new_rows(depth, depth_v), place_of(variant, Q, K, blocks)
    local n_q, n_k, first = place.n_q, place.n_k, place.n * TILE
    load_rows(place.keys(K, kv), at.own[1], TILE, depth, first)
    load_rows(place.keys(V, kv), at.own[2], TILE, depth_v, first)
    local sums_K, sums_V = fragment(f32, {cdiv(depth, LANES), ROWS}), fragment(f32,
      {cdiv(depth_v, LANES), ROWS})
    local p, ds = fragment(f32, ROWS), fragment(f32, ROWS)
    clear(sums_K)
    clear(sums_V)
    local from, behind = 0, n_q
    if variant.score then
      from, behind = seen_by(variant, operands, place, "queries", first, n_q)
    elseif variant.causal then
      from = max(first - (n_k - n_q), 0) // LANES * LANES
    end
    for h in range(kv * group, (kv + 1) * group) do
      for q in range(from, behind, LANES) do
        sync_threads()
        load_rows(place.queries(Q, h), at.other[1], LANES, depth, q)
        load_rows(place.queries(dO, h), at.other[2], LANES, depth_v, q)
        sync_threads()
        local query = min(q + lane, n_q - 1)
        for r = 0, ROWS - 1 do
          local row = warp * ROWS + r
          local s, dp = products(at, variant, row, lane)
          p[r], ds[r] = weights_of(variant, operands, place, h, q + lane, first + row, s, dp,
            function() return L[{place.q + query, h, b}], D[{place.q + query, h, b}] end, c)
        end
        add_rows(sums_V, p, at.other[2], depth_v, lane)
        add_rows(sums_K, ds, at.other[1], depth, lane)
      end
    end
    store_rows(sums_K, place.keys(dK, kv), depth, first + warp * ROWS, lane, scale)
    store_rows(sums_V, place.keys(dV, kv), depth_v, first + warp * ROWS, lane, 1.0)
  end
  local name = "attention_backward_dKV"
  if variant.score or variant.packed then
    return kernel(name, function(Q, K, V, dO, L, D, dK, dV, group, c, scale, blocks, ...)
      run(Q, K, V, dO, L, D, dK, dV, group, c, scale, blocks, ...)
    end)
  end
  return kernel(name, function(Q, K, V, dO, L, D, dK, dV, group, c, scale)
    run(Q, K, V, dO, L, D, dK, dV, group, c, scale)
  end)
end

function M.make(variant) return { dQ = make_dQ(variant), dKV = make_dKV(variant) } end

function M.plan(p, kernels)
  return rows.two_kernels(p, kernels, { tile = TILE, rows = 1, block = LANES * WARPS,
    takes_blocks = p.score })
end

return M
