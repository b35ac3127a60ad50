-- attention_tiles.lua: the table by which the blocks of attention's kernels know their tiles of
-- queries: made on the host in the order of attention_schedule.lua, and kept; read in kernels.
local internal = ...
local schedule = require "cuttle.attention_schedule"
local lists = require "cuttle.lists"
local M = {}

local MOST_KEPT <const> = 64

-- {====== On the host ======

--- Why tiles of so many rows cannot be told apart in a table, or nil.
function M.trouble(p, rows)
  local n_pairs = p.heads * (p.sequences and #p.sequences or p.batches)
  local n_tiles = cdiv(p.n_q, rows)
  if n_tiles > schedule.MAX_TILES then
    return ("a head has %d tiles of %d queries, and a table of tiles has room for %d"):format(
      n_tiles, rows, schedule.MAX_TILES)
  elseif n_pairs > schedule.MAX_HEADS then
    return ("there are %d heads in all, and a table of tiles has room for %d"):format(n_pairs,
      schedule.MAX_HEADS)
  end
end

local function sequences_of(p)
  if p.sequences then return p.sequences end
  local list = {}
  for i = 1, p.batches do list[i] = { n_q = p.n_q, n_k = p.n_k } end
  return list
end

-- The tiles of each of n blocks; without n, a block for each tile.
local function blocks_of(sections, n)
  if n then return schedule.assign(sections, n) end
  local blocks = {}
  for _, section in ipairs(sections) do
    for _, tile in ipairs(section) do blocks[#blocks + 1] = { tile } end
  end
  return blocks
end

local function make_table(p, shape, n)
  local unequal = p.sequences ~= nil
  local sections = schedule.sections({ sequences = sequences_of(p), heads = p.heads,
    causal = p.causal, unequal = unequal, score = p.score }, shape)
  local rows, n_fields = schedule.rows(blocks_of(sections, n), p.heads, p.sequences)
  local flat, length = {}, #rows[1]
  for _, row in ipairs(rows) do table.move(row, 1, length, #flat + 1, flat) end
  return view(internal.launch.table_on(u32, flat, nil, p.device),
    layout { n_fields, length // n_fields, #rows })
end

local kept, n_kept = {}, 0 -- tables by what they depend on

--- The table that n blocks read, or one for each tile without n, (fields, number, block): number 0
--- is how many there are. `shape` is that of schedule.sections.
function M.table_of(p, shape, n)
  local words = lists.map(sequences_of(p), function(s)
    return ("%d,%d,%d,%d"):format(s.q or 0, s.n_q, s.k or 0, s.n_k)
  end)
  local key = ("%s %s %s %d %s %s %d %d %d %s"):format(p.device, p.sequences ~= nil, n, p.heads,
    p.causal, p.score and p.score.range_text, shape.rows, shape.keys, shape.group_rows,
    table.concat(words, " "))
  if kept[key] == nil then
    if n_kept == MOST_KEPT then kept, n_kept = {}, 0 end
    kept[key], n_kept = make_table(p, shape, n), n_kept + 1
  end
  return kept[key]
end

--- The sequences as a table (4,sequences) of i32: q, n_q, k and n_k; of one element if not packed.
function M.spans(p)
  if not p.sequences then return internal.launch.table_on(i32, {{0}}, nil, p.device) end
  local rows = lists.map(p.sequences, function(s) return { s.q, s.n_q, s.k, s.n_k } end)
  local spans = internal.launch.table_on(i32, rows, nil, p.device)
  return view(spans, layout({4, #rows}, {stride(spans)[2], stride(spans)[1]}))
end

-- {====== In a kernel ======

-- n in a register of its own: otherwise the assembler computes it again in the loop over keys.
local function in_register(number)
  return internal.kernel.cuda('[&] { int n = $n; asm("" : "+r"(n)); return n; }()', { n = number },
    i32, function(n) return n end)
end

--- The numbers of a tile.
function M.n_fields(variant) return variant.packed and 5 or 1 end

--- How many blocks of keys a tile has.
function M.count(at)
  if at.list ~= nil then return at.n_parts + at.n_whole end
  if at.first == nil then return at.n_blocks end
  return at.n_blocks - at.first
end

--- The number of the i-th block, from 0 on.
function M.block(at, i)
  if at.list ~= nil then return at.list[2 + i] end
  return at.n_blocks - 1 - i
end

--- That of the one before it.
function M.block_before(at, i)
  if at.list ~= nil then return at.list[1 + i] end
  return at.n_blocks - i
end

--- That of the last one.
function M.last_block(at)
  if at.list ~= nil then return at.list[1 + M.count(at)] end
  return at.first or 0
end

-- The tile's list of attention_blocks.lua.
local function read_list(at, list)
  at.list = list(_, at.m, at.head, at.b)
  at.n_parts, at.n_whole = at.list[0], at.list[1]
end

--- What a tile's numbers say, from numbers[0] on: {m =, head =, batch =, n_blocks =}, of keys,
--- and of its sequence the lengths and, of packed ones, the first rows: {n_q =, n_k =, q =, k =}.
--- With masks, scores or scales also b, the sequence; with masks or scores `first`, the first block
--- of keys, nil: 0; or the tile's `list` of blocks instead, of which n_parts are seen in part, and
--- n_whole whole.
function M.read(variant, args, numbers)
  local m, pair = cast(numbers[0] & 0xffff, i32), numbers[0] >> 16
  local at = { m = m, head = cast(pair % args.heads, i32), n_q = args.n_q, n_k = args.n_k }
  if variant.packed then
    at.batch, at.q, at.n_q = 0, cast(numbers[1], i32), cast(numbers[2], i32)
    at.k, at.n_k = cast(numbers[3], i32), cast(numbers[4], i32)
  else
    at.batch = cast(pair // args.heads, i32)
  end
  local seen = at.n_k
  if variant.score or variant.scaled then at.b = cast(pair // args.heads, i32) end
  if variant.score then
    if args.list ~= nil then
      read_list(at, args.list)
    else
      at.first, at.n_blocks = variant.score:blocks(args.operands, m * variant.rows,
        min((m + 1) * variant.rows, at.n_q), at, variant.keys)
    end
    return at
  elseif variant.causal then
    seen = min(seen, min((m + 1) * variant.rows, at.n_q) + at.n_k - at.n_q)
  end
  at.n_blocks = max(cdiv(seen, variant.keys), 1)
  if variant.causal then at.n_blocks = in_register(at.n_blocks) end
  return at
end

return M
