-- attention_decode_plain.lua: attention_decode on any device, of any types and depths, by plain
-- arithmetic. A warp takes 32 keys at a time: each lane has one of them for the scores, and every
-- 32nd column of the sums.
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local schedule = require "cuttle.attention_decode_schedule"
local scores_of = require "cuttle.attention_decode_scores"
local M = {}

local WARP <const>, WARPS <const>, ROWS <const> = 32, 4, 4

function M.trouble() end

--- See attention_decode.lua.
function M.shape()
  return { keys = WARP, step = WARP * WARPS, rows = ROWS, warps = WARPS, found = WARPS,
           resident = 4, overhead = 2 }
end

-- The tile's rows in shared memory, f32; 0 where there is none.
local function load_rows(variant, args, sQ, piece)
  local kv_head, first_row = merge.key_head(variant, piece.head)
  for i in range(threadIdx.x, ROWS * variant.depth, WARP * WARPS) do
    local row, d = i // variant.depth, i % variant.depth
    local query, head, is_there = merge.query(variant, kv_head, first_row, row)
    local value = f32(0.0)
    if is_there then value = cast(args.Q[{ query, d, head, piece.b }], f32) end
    sQ[{ d, row }] = value
  end
end

-- Adds to the scores the products of n columns of a key, times `by`, and of the rows'.
local function add_columns(scores, sQ, first, key, from, n, by)
  for d in range(n) do
    local x = cast(key[from + d], f32)
    if by ~= nil then x = x * by end
    for r = 0, ROWS - 1 do scores[r] = scores[r] + sQ[{ first + d, r }] * x end
  end
end

-- The scores of key `k` and the rows, times log2(e).
local function score(variant, args, sQ, piece, kv_head, k, scores, c)
  local function row_of(t)
    return pages.row(variant, args, t, piece.b, kv_head, min(k, piece.last - 1))
  end
  local key, depth, groups = row_of(args.K), variant.depth_k, variant.k_groups
  clear(scores)
  if groups then
    local scales = row_of(args.k_scale)
    for i in range(groups) do
      local at = i * (depth // groups)
      add_columns(scores, sQ, at, key, at, depth // groups, scales[i])
    end
  else
    add_columns(scores, sQ, 0, key, 0, depth,
      merge.scales_keys(variant) and args.k_scale[{ kv_head, piece.b }] or nil)
  end
  if variant.rope then
    add_columns(scores, sQ, depth, row_of(args.K_rope), 0, variant.depth - depth)
  end
  local _, first_row = merge.key_head(variant, piece.head)
  if variant.by_token then
    c = c * pages.scale(variant, args, args.k_scale, piece.b, kv_head, min(k, piece.last - 1))
  end
  for r = 0, ROWS - 1 do
    scores[r] = scores_of.element(variant, args, piece, first_row + r, k, scores[r], c,
      scores_of.factor(variant, c))
  end
end

local function step(variant, args, sQ, piece, kv_head, first, c, state)
  local lane, tops, sums, out = threadIdx.x % WARP, state.tops, state.sums, state.out
  local scores = fragment(f32, ROWS)
  score(variant, args, sQ, piece, kv_head, first + lane, scores, c)
  for r = 0, ROWS - 1 do
    local top = max(tops[r], warp_reduce(scores[r], "max"))
    local base = where(top == -math.huge, 0.0, top)
    local shrink = exp2(tops[r] - base)
    scores[r] = exp2(scores[r] - base)
    tops[r], sums[r] = top, sums[r] * shrink + scores[r]
    for i = 0, size(out, 0) - 1 do out[{ i, r }] = out[{ i, r }] * shrink end
  end
  for j in range(min(WARP, piece.last - first)) do
    local function row_of(t) return pages.row(variant, args, t, piece.b, kv_head, first + j) end
    local value, groups, scale = row_of(args.V), variant.v_groups, nil
    if variant.by_token then
      scale = pages.scale(variant, args, args.v_scale, piece.b, kv_head, first + j)
    end
    for i = 0, size(out, 0) - 1 do
      local d = min(lane + i * WARP, variant.depth_v - 1)
      local x = cast(value[d], f32)
      if groups then scale = row_of(args.v_scale)[d // (variant.depth_v // groups)] end
      if scale ~= nil then x = x * scale end
      for r = 0, ROWS - 1 do out[{ i, r }] = out[{ i, r }] + shfl_idx(scores[r], j) * x end
    end
  end
end

-- What a warp found, in shared memory.
local function store(variant, smem, state)
  local lane, warp = threadIdx.x % WARP, threadIdx.x // WARP
  for r = 0, merge.used_rows(variant) - 1 do
    local sum = warp_reduce(state.sums[r], "add")
    for i = 0, size(state.out, 0) - 1 do
      local d = lane + i * WARP
      if d < variant.depth_v then smem.O[{ d, r, warp }] = state.out[{ i, r }] end
    end
    if lane == 0 then smem.ml[{ 0, r, warp }], smem.ml[{ 1, r, warp }] = state.tops[r], sum end
  end
end

function M.make(variant)
  return kernel(variant.name, function(Q, K, V, O, LSE, lengths, capacity, n_parts, parts, ml,
                                       table, k_scale, v_scale, mask, K_rope, c, ...)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, lengths = lengths, capacity = capacity,
                   n_parts = n_parts, parts = parts, ml = ml, table = table, k_scale = k_scale,
                   v_scale = v_scale, mask = mask, K_rope = K_rope, operands = { ... } }
    local sQ, smem = shared(f32, { variant.depth, ROWS }), merge.new_shared(variant)
    local warp = threadIdx.x // WARP
    local state = { tops = fragment(f32, ROWS), sums = fragment(f32, ROWS),
                    out = fragment(f32, { cdiv(variant.depth_v, WARP), ROWS }) }
    grid_dependency_wait()
    grid_dependency_launch()
    local function first(piece)
      load_rows(variant, args, sQ, piece)
      sync_threads()
    end
    local function compute(piece)
      local kv_head = merge.key_head(variant, piece.head)
      local factor = merge.factor_of_scores(variant, k_scale, c, piece)
      fill(state.tops, -math.huge)
      clear(state.sums)
      clear(state.out)
      for at in range(piece.first + warp * WARP, piece.last, WARP * WARPS) do
        step(variant, args, sQ, piece, kv_head, at, factor, state)
      end
    end
    local function finish(piece, next_piece)
      store(variant, smem, state)
      sync_threads()
      merge.finish_piece(variant, args, smem, piece)
      if next_piece.n_units > 0 then load_rows(variant, args, sQ, next_piece) end
      sync_threads()
    end
    schedule.each_piece(variant, args, { first = first, compute = compute, finish = finish })
  end)
end

return M
