-- attention_plain.lua: attention on any device, of any float type and depth, by plain arithmetic. A
-- warp has ROWS queries; a block's warps share blocks of keys and values. Each lane has one key of
-- the block for the scores, and every 32nd column of the sums.
local internal = ...
local blocks = require "cuttle.attention_blocks"
local paged = require "cuttle.attention_pages"
local scales_of = require "cuttle.attention_scales"
local scores_of = require "cuttle.attention_score"
local softmax = require "cuttle.attention_softmax"
local tables = require "cuttle.attention_tiles"
local M = {}

local LANES <const>, WARPS <const>, ROWS <const> = 32, 4, 4
local TILE <const> = WARPS * ROWS
local LN_2 <const> = math.log(2)

function M.trouble() end
M.heads_trouble = M.trouble

--- See attention.lua.
function M.order(_, p)
  return { { "scores", ("fma over a depth of %d"):format(p.depth) },
           { "blocks", ("%d keys each, the first block first"):format(LANES) } }
end

--- Copies `n` rows of a head (S,D), from row `first` on, to shared memory as f32; rows from `last`
--- on, or behind the last one, are 0. For attention_backward_plain.lua, too.
function M.load_rows(t, sT, n, depth, first, last)
  last = last or size(t, 0)
  for i in range(threadIdx.x, n * depth, LANES * WARPS) do
    local j, d = i // depth, i % depth
    local value = 0.0
    if first + j < last then value = cast(t[{first + j, d}], f32) end
    sT[{j, d}] = value
  end
end

-- The same of the tile's sequence in pages, from its row j0 on, of t, K or V.
local function load_pages(variant, args, at, t, sT, depth, j0)
  for i in range(threadIdx.x, LANES * depth, LANES * WARPS) do
    local j, d, value = i // depth, i % depth, 0.0
    if j0 + j < at.n_k then
      value = cast(paged.row(variant, args, at, t, at.kv_head, j0 + j)[d], f32)
    end
    sT[{j, d}] = value
  end
end

-- Where the block's tile lies: rows of its queries and keys, counted from the tensors' first.
local function place_of(variant, Q, K, spans, group)
  local head, b = blockIdx.y, blockIdx.z
  if variant.packed then
    return { head = head, kv_head = head // group, batch = 0, b = b, q = spans[{0, b}],
             n_q = spans[{1, b}], k = spans[{2, b}], n_k = spans[{3, b}] }
  end
  return { head = head, kv_head = head // group, batch = b, b = b, q = 0, n_q = size(Q, 0), k = 0,
           n_k = size(K, 0) }
end

-- The keys that queries [first, last) see: from the first, 0 if nil, to before the last.
local function seen_by(variant, operands, at, first, last)
  local from, seen = 0, at.n_k
  if variant.score then
    local start, behind = variant.score:range(operands, first, last, at)
    if start ~= nil then from = max(start, 0) // LANES * LANES end
    if behind ~= nil then seen = max(0, min(seen, behind)) end
  elseif variant.causal then
    seen = max(0, min(seen, last + at.n_k - at.n_q))
  end
  return from, seen
end

-- A query's score of a key, times log2(e), of their product; -inf where the key is not seen.
local function score_of(variant, operands, at, product, query, key, c)
  if variant.score then
    local s = variant.score:element(operands, product, { q = min(query, at.n_q - 1), k = key,
      h = at.head, b = at.b, n_q = at.n_q, n_k = at.n_k }, c)
    return s * variant.score:factor(c)
  end
  local last = at.n_k
  if variant.causal then last = min(last, query + at.n_k - at.n_q + 1) end
  return where(key < last, product * c, -math.huge)
end

-- A probability, of which some are dropped.
local function kept(variant, operands, at, p, query, key)
  if not (variant.score and variant.score.drops) then return p end
  return p * variant.score:kept_factor(operands, { q = query, k = key, h = at.head, b = at.b })
end

-- {====== The work of a warp ======
-- w: variant, operands and scales; at (see place_of), first, the block's first query; warp, lane;
-- sQ, sK, sV in shared memory; and of each of the warp's rows tops, sums, scores and out.

local function row_of(w, r) return w.first + w.warp * ROWS + r end

-- The products of the warp's queries with the lane's key.
local function multiply(w)
  clear(w.scores)
  for d in range(w.variant.depth) do
    for r = 0, ROWS - 1 do
      w.scores[r] = w.scores[r] + w.sQ[{w.warp * ROWS + r, d}] * w.sK[{w.lane, d}]
    end
  end
end

-- Scores of the lane's key become probabilities below the new top; what there is shrinks to it.
local function take_scores(w, key, c, of_values)
  for r = 0, ROWS - 1 do
    local s = score_of(w.variant, w.operands, w.at, w.scores[r], row_of(w, r), key, c)
    local top = max(w.tops[r], warp_reduce(s, "max"))
    local base = where(top == -math.huge, 0.0, top)
    local p = exp2(s - base)
    local shrink = exp2(w.tops[r] - base)
    w.tops[r] = top
    w.sums[r] = w.sums[r] * shrink + p
    w.scores[r] = kept(w.variant, w.operands, w.at, p, row_of(w, r), key) * of_values
    for i = 0, size(w.out, 0) - 1 do w.out[{i, r}] = w.out[{i, r}] * shrink end
  end
end

--- Adds to sums (columns,ROWS) the lanes' rows of a tile times their factors.
function M.add_rows(sums, factors, sT, depth, lane)
  for j in range(LANES) do
    for r = 0, ROWS - 1 do
      local factor = shfl_idx(factors[r], j)
      for i = 0, cdiv(depth, LANES) - 1 do
        local d = i * LANES + lane
        sums[{i, r}] = sums[{i, r}]
          + factor * sT[{j, depth % LANES == 0 and d or min(d, depth - 1)}]
      end
    end
  end
end

local function store_row(w, r, O, LSE)
  local variant, at, depth_v = w.variant, w.at, w.variant.depth_v
  local top, sum, shrink, row = w.tops[r], warp_reduce(w.sums[r], "add"), 1.0, row_of(w, r)
  local sink = scores_of.sink(variant, w.operands, at)
  if sink ~= nil then top, sum, shrink = softmax.with_sink(top, sum, sink) end
  local factor = where(sum == 0.0, 0.0, shrink / sum)
  local of_result = scales_of.of_result(w.scales, at, at.kv_head)
  if of_result ~= nil then factor = factor * of_result end
  if row < at.n_q then
    for i = 0, size(w.out, 0) - 1 do
      local d = i * LANES + w.lane
      if depth_v % LANES == 0 or d < depth_v then
        O[{at.q + row, d, at.head, at.batch}] = cast(w.out[{i, r}] * factor, O.dtype)
      end
    end
    if variant.lse and w.lane == 0 then
      LSE[{at.q + row, at.head, at.batch}] = (top + log2(sum)) * LN_2
    end
  end
end

function M.make(variant)
  local depth, depth_v = variant.depth, variant.depth_v

  return kernel(variant.name, function(Q, K, V, O, LSE, spans, group, c, ...)
    local w = { variant = variant, at = place_of(variant, Q, K, spans, group),
      first = blockIdx.x * TILE, warp = threadIdx.x // LANES, lane = threadIdx.x % LANES,
      sQ = shared(f32, row_major{TILE, depth}),
      sK = shared(f32, layout({LANES, depth}, {depth + 1, 1})),  -- a lane reads a row
      sV = shared(f32, row_major{LANES, depth_v}),
      tops = fragment(f32, ROWS), sums = fragment(f32, ROWS), scores = fragment(f32, ROWS),
      out = fragment(f32, {cdiv(depth_v, LANES), ROWS}) }
    local at = w.at
    local pages, rest = paged.split(variant, ...)
    local keys, values = K, V
    if not pages then
      keys, values = K(_, _, at.kv_head, at.batch), V(_, _, at.kv_head, at.batch)
    end
    local function load_keys(t, sT, n, j0)
      if pages then
        load_pages(variant, { table = pages }, at, t, sT, n, j0)
      else
        M.load_rows(t, sT, LANES, n, at.k + j0, at.k + at.n_k)
      end
    end
    M.load_rows(Q(_, _, at.head, at.batch), w.sQ, TILE, depth, at.q + w.first, at.q + at.n_q)
    fill(w.tops, -math.huge)
    clear(w.sums)
    clear(w.out)

    w.scales, w.operands = scales_of.split(variant, table.unpack(rest, 1, rest.n))
    if w.scales then c = c * scales_of.of_queries(w.scales, at, at.kv_head, w.first) end
    local from, seen = seen_by(variant, w.operands, at, w.first, min(w.first + TILE, at.n_q))
    for j0 in range(from, seen, LANES) do
      sync_threads()
      load_keys(keys, w.sK, depth, j0)
      load_keys(values, w.sV, depth_v, j0)
      sync_threads()
      multiply(w)
      local of_scores, of_values = 1.0, 1.0
      if variant.scaled == "blocks" then
        of_scores, of_values = scales_of.of_block(w.scales, at, at.kv_head, j0 // scales_of.BLOCK)
      end
      take_scores(w, j0 + w.lane, c * of_scores, of_values)
      M.add_rows(w.out, w.scores, w.sV, depth_v, w.lane)
    end
    for r = 0, ROWS - 1 do store_row(w, r, O, LSE) end
  end)
end

--- The kernel's launch and arguments for a problem. What is not there is of one element.
function M.plan(p, kernel)
  local n_sequences = p.sequences and #p.sequences or p.batches
  local none = internal.launch.table_on(i32, {{0}}, nil, p.device)
  return { kernel = kernel,
           launch = { grid = { cdiv(p.n_q, TILE), p.heads, n_sequences }, block = LANES * WARPS,
                      stream = p.stream },
           args = { p.Q, p.K, p.V, p.O, p.LSE or none, tables.spans(p), p.heads // p.kv_heads,
                    scores_of.factor(p), blocks.last_operands(p, {}) } }
end

return M
