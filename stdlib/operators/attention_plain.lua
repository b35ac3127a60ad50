-- attention_plain.lua: attention on any device, of any float type and depth, by plain arithmetic. A
-- warp has ROWS queries; a block's warps share blocks of keys and values. Each lane has one key of
-- the block for the scores, and every 32nd column of the sums.
local internal = ...
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

-- A block of keys or values in shared memory, f32; rows behind the last are 0.
local function load_block(t, place, sT, depth, first, last)
  for i in range(threadIdx.x, LANES * depth, LANES * WARPS) do
    local j, d = i // depth, i % depth
    local value = 0.0
    if first + j < last then value = cast(t[{first + j, d, place.head, place.batch}], f32) end
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

function M.make(variant)
  local depth, depth_v = variant.depth, variant.depth_v
  local columns = cdiv(depth_v, LANES)

  return kernel(variant.name, function(Q, K, V, O, LSE, spans, group, c, ...)
    local sQ = shared(f32, row_major{TILE, depth})
    local sK = shared(f32, layout({LANES, depth}, {depth + 1, 1}))  -- a lane reads a row
    local sV = shared(f32, row_major{LANES, depth_v})
    local at = place_of(variant, Q, K, spans, group)
    local warp, lane = threadIdx.x // LANES, threadIdx.x % LANES
    local first = blockIdx.x * TILE
    local rows = {head = at.head, batch = at.batch}
    local kv = {head = at.kv_head, batch = at.batch}

    for i in range(threadIdx.x, TILE * depth, LANES * WARPS) do
      local row, d = i // depth, i % depth
      local value = 0.0
      if first + row < at.n_q then
        value = cast(Q[{at.q + first + row, d, rows.head, rows.batch}], f32)
      end
      sQ[{row, d}] = value
    end
    local tops, sums = fragment(f32, ROWS), fragment(f32, ROWS)
    local out, scores = fragment(f32, {columns, ROWS}), fragment(f32, ROWS)
    fill(tops, -math.huge)
    clear(sums)
    clear(out)

    local scales, operands = scales_of.split(variant, ...)
    if scales then c = c * scales_of.of_queries(scales, at, at.kv_head, first) end
    local from, seen = seen_by(variant, operands, at, first, min(first + TILE, at.n_q))
    for j0 in range(from, seen, LANES) do
      sync_threads()
      load_block(K, kv, sK, depth, at.k + j0, at.k + at.n_k)
      load_block(V, kv, sV, depth_v, at.k + j0, at.k + at.n_k)
      sync_threads()
      clear(scores)
      for d in range(depth) do
        for r = 0, ROWS - 1 do
          scores[r] = scores[r] + sQ[{warp * ROWS + r, d}] * sK[{lane, d}]
        end
      end
      local of_scores, of_values = 1.0, 1.0
      if variant.scaled == "blocks" then
        of_scores, of_values = scales_of.of_block(scales, at, at.kv_head, j0 // scales_of.BLOCK)
      end
      for r = 0, ROWS - 1 do
        local s = score_of(variant, operands, at, scores[r], first + warp * ROWS + r, j0 + lane,
          c * of_scores)
        local top = max(tops[r], warp_reduce(s, "max"))
        local base = where(top == -math.huge, 0.0, top)
        local p = exp2(s - base)
        local shrink = exp2(tops[r] - base)
        tops[r] = top
        sums[r] = sums[r] * shrink + p
        scores[r] = kept(variant, operands, at, p, first + warp * ROWS + r, j0 + lane) * of_values
        for i = 0, columns - 1 do out[{i, r}] = out[{i, r}] * shrink end
      end
      for j in range(LANES) do
        for r = 0, ROWS - 1 do
          local p = shfl_idx(scores[r], j)
          for i = 0, columns - 1 do
            local d = i * LANES + lane
            local column = depth_v % LANES == 0 and d or min(d, depth_v - 1)
            out[{i, r}] = out[{i, r}] + p * sV[{j, column}]
          end
        end
      end
    end

    for r = 0, ROWS - 1 do
      local sum, shrink = warp_reduce(sums[r], "add"), 1.0
      local row = first + warp * ROWS + r
      local sink = scores_of.sink(variant, operands, at)
      if sink ~= nil then tops[r], sum, shrink = softmax.with_sink(tops[r], sum, sink) end
      local factor = where(sum == 0.0, 0.0, shrink / sum)
      local of_result = scales_of.of_result(scales, at, at.kv_head)
      if of_result ~= nil then factor = factor * of_result end
      if row < at.n_q then
        for i = 0, columns - 1 do
          local d = i * LANES + lane
          if depth_v % LANES == 0 or d < depth_v then
            O[{at.q + row, d, rows.head, rows.batch}] = cast(out[{i, r}] * factor, O.dtype)
          end
        end
        if variant.lse and lane == 0 then
          LSE[{at.q + row, rows.head, rows.batch}] = (tops[r] + log2(sum)) * LN_2
        end
      end
    end
  end)
end

-- The last arguments.
local function with_scales(p)
  local list = table.pack(scales_of.operands(p))
  for _, x in ipairs { scores_of.operands(p) } do list[#list + 1] = x end
  return table.unpack(list)
end

--- The kernel's launch and arguments for a problem. What is not there is of one element.
function M.plan(p, kernel)
  local n_sequences = p.sequences and #p.sequences or p.batches
  local none = internal.launch.table_on(i32, {{0}}, nil, p.device)
  return { kernel = kernel,
           launch = { grid = { cdiv(p.n_q, TILE), p.heads, n_sequences }, block = LANES * WARPS,
                      stream = p.stream },
           args = { p.Q, p.K, p.V, p.O, p.LSE or none, tables.spans(p), p.heads // p.kv_heads,
                    scores_of.factor(p), with_scales(p) } }
end

return M
