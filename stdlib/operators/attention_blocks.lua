-- attention_blocks.lua: the blocks of keys that a tile of queries sees, where only a function can
-- say which: computed on the device before attention, whose kernels then skip empty blocks and mask
-- only those that are seen in part. A list (2 + n, tiles, heads, sequences) of i32 has of each tile
-- how many blocks are seen in part, how many whole, and their numbers: first those in part, the
-- last block first, then those that are whole. It names at least one block. Heads and sequences
-- that no function tells apart share lists.
local paged = require "cuttle.attention_pages"
local scales = require "cuttle.attention_scales"
local scores = require "cuttle.attention_score"
local tables = require "cuttle.attention_tiles"
local on_device = require "cuttle.operator_device"
local M = {}

local THREADS <const> = 256
local LIST_THREADS <const> = 32

-- {====== On the device ======

-- The queries and keys of a sequence; spans are those of attention_tiles.lua.
local function lengths_of(variant, spans, n_q, n_k, b)
  if not variant.packed then return n_q, n_k end
  return spans[{1, b}], spans[{3, b}]
end

-- Of a thread's queries and keys of the block: is one seen, and are all?
local function sees_of(variant, operands, at, first_q, first_k)
  local kind, keys = variant.score, variant.keys
  local any, all = false, true
  for i in range(threadIdx.x, variant.rows * keys, THREADS) do
    local q, k = first_q + i // keys, first_k + i % keys
    if q < at.n_q then
      local seen = k < at.n_k and kind:sees(operands, { q = q, k = min(k, max(at.n_k - 1, 0)),
        h = at.h, b = at.b, n_q = at.n_q, n_k = at.n_k })
      any, all = any or seen, all and seen
    end
  end
  return any, all
end

-- seen (blocks,tiles,heads,sequences): 0 nothing of a block, 1 a part, 2 all.
local function make_seen(variant)
  return kernel("attention_blocks", function(seen, spans, n_q, n_k, heads, ...)
    local state = shared(i32, 2)
    local h, b = blockIdx.z % heads, blockIdx.z // heads
    local at = { h = h, b = b }
    at.n_q, at.n_k = lengths_of(variant, spans, n_q, n_k, b)
    if threadIdx.x == 0 then state[0], state[1] = 0, 1 end
    sync_threads()
    local any, all = sees_of(variant, {...}, at, blockIdx.y * variant.rows,
      blockIdx.x * variant.keys)
    if vote_any(any) and threadIdx.x % 32 == 0 then atomic_max(state, 0, 1) end
    if not vote_all(all) and threadIdx.x % 32 == 0 then atomic_min(state, 1, 0) end
    sync_threads()
    if threadIdx.x == 0 then
      seen[{blockIdx.x, blockIdx.y, h, b}] = state[0] * (1 + state[1])
    end
  end)
end

-- The blocks of a tile whose state is `wanted`, from place `first` of the list on; returns the
-- place behind them.
local function gather(seen, list, m, h, b, wanted, first)
  local place, n = first, size(seen, 0)
  for i in range(n) do
    if seen[{n - 1 - i, m, h, b}] == wanted then
      list[{place, m, h, b}] = n - 1 - i
      place = place + 1
    end
  end
  return place
end

local list_kernel = kernel("attention_block_lists", function(seen, list)
  local m, h, b = blockIdx.x * LIST_THREADS + threadIdx.x, blockIdx.y, blockIdx.z
  if m < size(seen, 1) then
    local behind_parts = gather(seen, list, m, h, b, 1, 2)
    local behind_all = gather(seen, list, m, h, b, 2, behind_parts)
    if behind_all == 2 then
      list[{2, m, h, b}] = 0
      behind_parts, behind_all = 3, 3
    end
    list[{0, m, h, b}], list[{1, m, h, b}] = behind_parts - 2, behind_all - behind_parts
  end
end)

-- {====== On the host ======

local kernels = scores.new_cache()

local function kernel_of(variant)
  local text = ("%d %d %s %s"):format(variant.rows, variant.keys, variant.packed,
    variant.score.text)
  return scores.made(kernels, variant, make_seen, text, make_seen)
end

local function new(p, extents) return on_device.new(p.device, i32, layout(extents)) end

--- The list of a problem, of which `variant` has the kind of scores, rows and keys; of gradients
--- (by_keys) that of tiles of keys, of which blocks have queries.
function M.list(p, variant)
  local n, n_tiles = cdiv(p.n_k, variant.keys), cdiv(p.n_q, variant.rows)
  local all_heads, all_sequences = p.heads, p.sequences and #p.sequences or p.batches
  local heads = variant.score.by_head and all_heads or 1
  local sequences = (variant.score.by_sequence or p.sequences) and all_sequences or 1
  local seen = new(p, { n, n_tiles, heads, sequences })
  kernel_of(variant) {
    grid = { n, n_tiles, heads * sequences }, block = THREADS, stream = p.stream,
  }(seen, tables.spans(p), p.n_q, p.n_k, heads, scores.operands(p))
  if variant.by_keys then
    n, n_tiles, seen = n_tiles, n, select(seen, 1, 0, 2, 3)
  end
  local list = new(p, { n + 2, n_tiles, heads, sequences })
  list_kernel {
    grid = { cdiv(n_tiles, LIST_THREADS), heads, sequences }, block = LIST_THREADS,
    stream = p.stream,
  }(seen, list)
  local by_tile = (n + 2) * n_tiles
  return view(list, layout({ n + 2, n_tiles, all_heads, all_sequences },
    { 1, n + 2, heads > 1 and by_tile or 0, sequences > 1 and by_tile * heads or 0 }))
end

--- The same as the first of a kernel's last arguments: nothing where ranges say what is seen.
function M.operands(p, variant)
  if not (variant.score and variant.score.is_scattered) then return scores.operands(p) end
  return M.list(p, variant), scores.operands(p)
end

--- The last arguments of kernels of attention: the pages, the scales, and those.
function M.last_operands(p, variant)
  local list = table.pack(paged.operands(p))
  for _, x in ipairs { scales.operands(p) } do list[#list + 1] = x end
  for _, x in ipairs { M.operands(p, variant) } do list[#list + 1] = x end
  return table.unpack(list)
end

--- What M.operands returned: the list, or nil, and the operands.
function M.split(variant, ...)
  if not (variant.score and variant.score.is_scattered) then return nil, { ... } end
  return (...), { select(2, ...) }
end

return M
