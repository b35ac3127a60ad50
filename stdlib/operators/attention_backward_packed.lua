-- attention_backward_packed.lua: packed sequences in the kernels of gradients. Two tables on the
-- device say where they lie; they are made on the host, and kept:
--   blocks (7,n)  of each tile of keys, or queries: first query, n_q, first key, n_k, the tile's
--                 number in its sequence, that of the sequence's first tile of queries, and the
--                 sequence's number
--   tiles (2,n)   of each tile of queries: its first row in Q, and how many of its rows are there
-- L, D and the sum of dQ have room for whole tiles of queries, so no two sequences share one. A
-- tile in memory may reach into the next sequence, whose elements may be NaN, which no 0 that they
-- are multiplied with makes 0: the warp that loads makes zeros of them.
local internal = ...
local M = {}

local WARP <const>, CHUNK <const> = 32, 8 -- CHUNK: elements of 16 bytes
local MOST_KEPT <const> = 64
local FIELDS <const>, TILE_FIELDS <const> = 7, 2

-- {====== On the host ======

--- The tiles of queries of all sequences.
function M.n_tiles(p, rows)
  local n = 0
  for _, s in ipairs(p.sequences) do n = n + cdiv(s.n_q, rows) end
  return n
end

-- Numbers of tiles of keys. Expensive ones come first; but if dQ is added in turns, those that are
-- waited for.
local function order(n, is_descending)
  local list = {}
  for i = 0, n - 1 do list[i + 1] = is_descending and n - 1 - i or i end
  return list
end

-- Of tiles of `size` keys, of := "n_k", or queries, "n_q".
local function make_blocks(p, of, size, rows)
  local sequences, first = {}, 0
  for i, s in ipairs(p.sequences) do
    sequences[i] = { s = s, first = first, at = i }
    first = first + cdiv(s.n_q, rows)
  end
  table.sort(sequences, function(a, b)
    if a.s.n_q ~= b.s.n_q then return a.s.n_q > b.s.n_q end
    return a.at < b.at
  end)
  local flat = {}
  for _, one in ipairs(sequences) do
    local s = one.s
    for _, n in ipairs(order(cdiv(s[of], size), p.deterministic)) do
      table.move({ s.q, s.n_q, s.k, s.n_k, n, one.first, one.at - 1 }, 1, FIELDS, #flat + 1, flat)
    end
  end
  return flat
end

local function make_tiles(p, rows)
  local flat = {}
  for _, s in ipairs(p.sequences) do
    for i = 0, cdiv(s.n_q, rows) - 1 do
      flat[#flat + 1] = s.q + i * rows
      flat[#flat + 1] = math.min(rows, s.n_q - i * rows)
    end
  end
  return flat
end

local kept, n_kept = {}, 0 -- tables by what they depend on

local function table_of(p, name, n_fields, make, ...)
  local words = { name, p.device, tostring(p.deterministic), ... }
  for _, s in ipairs(p.sequences) do
    words[#words + 1] = ("%d,%d,%d,%d"):format(s.q, s.n_q, s.k, s.n_k)
  end
  local key = table.concat(words, " ")
  if kept[key] == nil then
    if n_kept == MOST_KEPT then kept, n_kept = {}, 0 end
    local flat = make(p, ...)
    local n = #flat // n_fields
    if n == 0 then flat[1] = 0 end
    kept[key] = view(internal.launch.table_on(u32, flat, nil, p.device), layout { n_fields, n })
    n_kept = n_kept + 1
  end
  return kept[key]
end

--- The table of blocks that have so many keys, of = "n_k", or queries, "n_q". Tiles of queries have
--- so many rows.
function M.blocks(p, of, size, rows)
  return table_of(p, "blocks", FIELDS, make_blocks, of, size, rows)
end

function M.tiles(p, rows) return table_of(p, "tiles", TILE_FIELDS, make_tiles, rows) end

-- {====== In a kernel ======

--- What the table says of a block: {q =, n_q =, k =, n_k =, n =, first_tile =, b =}, b of variants
--- with masks or scores. `uniform` makes a value known to be the same in all lanes.
function M.read(variant, blocks, block, uniform)
  local function field(i) return uniform(cast(blocks[{i, block}], i32)) end
  return { q = field(0), n_q = field(1), k = field(2), n_k = field(3), n = field(4),
           first_tile = field(5), b = variant.score and field(6) }
end

--- n rows of a matrix (S,D), from row `first` on.
function M.part(t, first, n)
  return view(t(first, _), layout({n, size(t, 1)}, {stride(t, 0), stride(t, 1)}))
end

--- Of row `row` of L, D and the sum: its row in Q, and whether it is there.
function M.row_of(tiles, row, rows)
  local at, i = row // rows, row % rows
  return cast(tiles[{0, at}], i32) + i, i < cast(tiles[{1, at}], i32)
end

--- The number of tile m of a block's queries among all.
function M.tile_at(args, m) return args.first_tile and args.first_tile + m or m end

-- Rows from `first` on of a tile (rows, depth) become zeros, by a warp.
local function clear_behind(s, first)
  local chunks, zeros = size(s, 1) // CHUNK, fragment(s.dtype, {1, CHUNK})
  clear(zeros)
  for i in range(threadIdx.x, (size(s, 0) - first) * chunks, WARP) do
    copy(zeros, tile(s, {1, CHUNK}, {first + i // chunks, i % chunks}))
  end
  fence_proxy_async()
  sync_warp()
end

--- Does the thread take part in loading? One does; of packed sequences its warp.
function M.is_loader(variant)
  if variant.packed then return threadIdx.x < WARP end
  return threadIdx.x == 0
end

--- load(bytes, tile_of, full, n_own, issue): issue(bar) loads so many bytes by TMA, at least the
--- tile that tile_of() is; then `full` says so. n_own rows of it are the sequence's, perhaps more
--- than it has.
function M.new_load(variant, bars)
  local function load(bytes, full, issue)
    full:arrive_expect_tx(bytes)
    issue(full)
  end
  if not variant.packed then
    return function(bytes, _, full, _, issue) load(bytes, full, issue) end
  end
  local parts = pipeline_state(1)
  return function(bytes, tile_of, full, n_own, issue)
    local is_first, s = threadIdx.x == 0, tile_of()
    if n_own < size(s, 0) then
      if is_first then load(bytes, bars.part[0], issue) end
      bars.part[0]:wait(parts.parity)
      parts:advance()
      clear_behind(s, max(n_own, 0))
      if is_first then full:arrive() end
    elseif is_first then
      load(bytes, full, issue)
    end
  end
end

--- The first n rows of a tile s to those of t (S,D) from row `first` on, and from column `column`
--- on, nil: 0; by so many threads.
function M.store_rows(t, s, first, n, thread, n_threads, column)
  local before, chunks = 0, size(t, 1) // CHUNK
  if column ~= nil then
    before = column // CHUNK
    chunks = max(0, min(chunks - before, size(s, 1) // CHUNK))
  end
  for i in range(thread, n * chunks, n_threads) do
    local row, chunk = i // chunks, i % chunks
    copy(tile(s, {1, CHUNK}, {row, chunk}), tile(t(first + row, _), {CHUNK}, {before + chunk}))
  end
end

return M
