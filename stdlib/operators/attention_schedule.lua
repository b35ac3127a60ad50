-- attention_schedule.lua: which tiles of queries each block of a persistent attention kernel
-- computes, and in which order; made on the host. Tiles come in sections of a few heads, so that
-- blocks that run at the same time read the same keys and values from L2; the next tile goes to the
-- block that is free first. In a section the expensive tiles come first, and the last section is
-- larger, so that blocks end together.
local M = {}

-- Heads in a section, and in the last one.
local FULL <const>, FULL_LAST <const> = 4, 40
local UNEQUAL <const>, UNEQUAL_LAST <const> = 8, 16 -- causal, or sequences of many lengths

local TILE_COST <const> = 0.8 -- beginning and end of a tile, in blocks of keys
-- What a block of keys costs where only some of a tile's groups of rows have work.
local IDLE_SHARE <const>, GROUP_SHARE <const> = 0.22, 0.26

-- {====== Tiles and what they cost ======

--- The blocks of keys that rows [first, last) of a sequence see.
function M.n_blocks(s, last, keys, causal)
  local seen = s.n_k
  if causal then seen = math.max(0, math.min(seen, last + s.n_k - s.n_q)) end
  return (seen + keys - 1) // keys
end

-- The same of rows [first, last), with masks and scores too.
local function n_seen(p, s, first, last, keys)
  if not p.score then return M.n_blocks(s, last, keys, p.causal) end
  local from, behind = p.score.kind:blocks(p.score.operands, first, last, s, keys)
  return behind - (from or 0)
end

local function tile_cost(shape, s, m, p)
  local first = m * shape.rows
  local last = math.min(first + shape.rows, s.n_q)
  local groups = (last - first + shape.group_rows - 1) // shape.group_rows
  local n_groups = shape.rows // shape.group_rows
  local share = groups == n_groups and 1 or IDLE_SHARE + GROUP_SHARE * groups
  return share * (n_seen(p, s, first, last, shape.keys) + TILE_COST)
end

-- The tiles of a sequence's head, appended.
local function add_head(out, shape, s, b, h, p)
  for m = 0, (s.n_q + shape.rows - 1) // shape.rows - 1 do
    out[#out + 1] = { m = m, h = h, b = b, cost = tile_cost(shape, s, m, p), at = #out }
  end
end

local function by_cost(a, b)
  if a.cost ~= b.cost then return a.cost > b.cost end
  return a.at < b.at
end

-- All heads of all sequences, the longest sequences first: {s, b, h} each.
local function heads_of(p)
  local order = {}
  for i, s in ipairs(p.sequences) do order[i] = { s = s, b = i - 1, work = s.n_q * s.n_k } end
  table.sort(order, function(a, b)
    if a.work ~= b.work then return a.work > b.work end
    return a.b < b.b
  end)
  local heads = {}
  for _, o in ipairs(order) do
    for h = 0, p.heads - 1 do heads[#heads + 1] = { s = o.s, b = o.b, h = h } end
  end
  return heads
end

--- All tiles of a problem {sequences, heads, causal, unequal, score}, in sections.
--- shape: {rows =, keys =, group_rows =}, the queries of a tile and of a group of its warps, and
--- the keys of a block.
function M.sections(p, shape)
  local heads, sections = heads_of(p), {}
  local unequal = p.causal or p.unequal
  local step, last = unequal and UNEQUAL or FULL, unequal and UNEQUAL_LAST or FULL_LAST
  local first = 1
  while first <= #heads do
    local left = #heads - first + 1
    local n = left <= last and left or math.min(step, left - last)
    local section = {}
    for i = first, first + n - 1 do
      add_head(section, shape, heads[i].s, heads[i].b, heads[i].h, p)
    end
    table.sort(section, by_cost)
    sections[#sections + 1] = section
    first = first + n
  end
  return sections
end

-- {====== Blocks ======

-- A heap of blocks by the time when they are free; of two the one with the lower number.
local function is_before(a, b)
  if a.free ~= b.free then return a.free < b.free end
  return a.number < b.number
end

local function sink(heap)
  local i = 1
  while true do
    local child = 2 * i
    if child > #heap then return end
    if child < #heap and is_before(heap[child + 1], heap[child]) then child = child + 1 end
    if not is_before(heap[child], heap[i]) then return end
    heap[i], heap[child] = heap[child], heap[i]
    i = child
  end
end

--- The tiles of each of n blocks, in order, and when it is free: {tile..., number =, free =} each.
function M.assign(sections, n)
  local blocks, heap = {}, {}
  for i = 1, n do
    blocks[i] = { number = i, free = 0 }
    heap[i] = blocks[i]
  end
  for _, section in ipairs(sections) do
    for _, tile in ipairs(section) do
      local block = heap[1]
      block[#block + 1] = tile
      block.free = block.free + tile.cost
      sink(heap)
    end
  end
  return blocks
end

--- Most of what a packed tile can say.
M.MAX_TILES, M.MAX_HEADS = 1 << 16, 1 << 15

--- A tile as one number: head b * heads + h in the upper bits, m in the lower 16.
function M.pack(tile, heads) return (tile.b * heads + tile.h) << 16 | tile.m end

-- What is said of a tile: of packed sequences also where its own lies.
local function fields_of(tile, heads, packed)
  local s = packed and packed[tile.b + 1]
  return M.pack(tile, heads), s and s.q, s and s.n_q, s and s.k, s and s.n_k
end

--- The blocks' tiles as rows of one length: of each block how many there are, then these; and the
--- numbers of a tile, 1, or 5 of packed sequences: M.pack, then q, n_q, k and n_k of its sequence.
function M.rows(blocks, heads, packed)
  local n_fields = packed and 5 or 1
  local longest = 0
  for _, block in ipairs(blocks) do longest = math.max(longest, #block) end
  local rows = {}
  for i, block in ipairs(blocks) do
    local row = { #block }
    for j = 2, (longest + 1) * n_fields do row[j] = 0 end
    for j, tile in ipairs(block) do
      local fields = { fields_of(tile, heads, packed) }
      table.move(fields, 1, n_fields, j * n_fields + 1, row)
    end
    rows[i] = row
  end
  return rows, n_fields
end

return M
