-- gemm_gather.lua: the kernel of gather_matmul: C = A B' where A's rows are spread over panels of
-- equal height, one of each rank. It is gemm_hopper.lua's, and its rows are A's. The blocks take
-- the tiles of the rank's own panel first, then those of the ranks after it. Meanwhile three warps
-- of the group that loads, which TMA does not need, copy the other panels in the same order, in
-- pieces: a row of tiles, CHUNK of K. Of the rows that the blocks take at one time the first pieces
-- come first, so that all blocks begin. For each piece they count in a flag what they have copied,
-- and the thread that loads waits for the flag of the piece that it needs.
--
-- A panel is a batch of C, so TMA clips where it ends. `distance` counts panels from the rank's
-- own. Fields of a configuration: those of gemm_hopper.lua, but no clusters; `vectors`, of 16
-- bytes, are what a thread that copies has under way.
--
-- The kernel takes as `panels`, beside the operands: {others = the panels that it copies, by
-- distance; copy = (M/W,K,W - 1), what it makes of them; pieces = those of a panel, row << 16 |
-- chunk, in the order in which they are needed; flags = u32: of each piece of `copy` how many units
-- are there, and last how many blocks have ended; rank =, count = W}. The flags are 0 before and
-- after each launch: the block that ends last clears them, when nobody waits any more.
local internal = ...
local hopper = require "cuttle.gemm_hopper"
local M = {}

local WARP <const>, N_COPIERS <const> = 32, 3 -- lanes; warps of a block that copy
local VECTOR_BITS <const> = 128
local WORDS <const> = VECTOR_BITS // 32
local HANDED_ON <const> = { order = "acq_rel" }
local HALF <const> = 16 -- bits of an entry's column
local CHUNK <const> = 4096 -- elements of a piece along K: shorter ones are slower to read
local PIECE_VECTORS <const> = CHUNK * 16 // VECTOR_BITS -- of a piece, in a row of memory

M.n_threads, M.shared_bytes, M.knows_plain = hopper.n_threads, hopper.shared_bytes, true

-- {====== On the host ======

--- Rows of tiles that a panel of the problem has.
function M.rows_of_tiles(config, p) return cdiv(p.n, config.tile[2]) end

--- Pieces along K.
function M.n_chunks(p) return cdiv(p.k, CHUNK) end

--- Flags of a launch, with the last one, in whole vectors.
function M.n_flags(config, p)
  return cdiv(M.rows_of_tiles(config, p) * M.n_chunks(p) * (p.l - 1) + 1, WORDS) * WORDS
end

-- A panel's tiles in the order of the walk.
local function panel_of(config, p)
  return hopper.curve(M.rows_of_tiles(config, p), cdiv(p.m, config.tile[1]), hopper.square(config))
end

--- The walk through all panels, from that distance on and around: entries (distance * rows of tiles
--- + row) << 16 | column.
function M.walk_of(config, p, from)
  local rows, panel, entries = M.rows_of_tiles(config, p), panel_of(config, p), {}
  for i = from, from + p.l - 1 do
    for _, entry in ipairs(panel) do
      entries[#entries + 1] = entry + (i % p.l * rows << HALF)
    end
  end
  return entries
end

-- The pieces of one panel: of the rows that one tile of each block needs, and no tile before, all
-- first ones, then all second ones.
local function pieces_of(config, p)
  local panel, pieces, seen = panel_of(config, p), {}, {}
  local n_blocks = hopper.n_blocks(config)
  for first = 1, #panel, n_blocks do
    local rows = {}
    for i = first, math.min(first + n_blocks - 1, #panel) do
      local row = panel[i] >> HALF
      if not seen[row] then rows[#rows + 1], seen[row] = row, true end
    end
    for chunk = 0, M.n_chunks(p) - 1 do
      for _, row in ipairs(rows) do pieces[#pieces + 1] = row << HALF | chunk end
    end
  end
  return pieces
end

local tables = {} -- walk and pieces, by device, tiles, panels and pieces

local function tables_of(config, p)
  local key = ("%s %d %d %d %d %d %d"):format(p.device, p.n, p.m, p.panels.count, M.n_chunks(p),
    config.tile[1], config.tile[2])
  if tables[key] == nil then
    tables[key] = { walk = internal.launch.table_on(u32, M.walk_of(config, p, 0), nil, p.device),
                    pieces = internal.launch.table_on(u32, pieces_of(config, p), nil, p.device) }
  end
  return tables[key]
end

--- What the kernel takes before alpha and beta. p.panels: {own =, others =, copy =, flags =,
--- rank =, count =}.
function M.args(config, p)
  local known, panels = tables_of(config, p), p.panels
  local A = hopper.without_stride_0(p.A)
  return { A, panels.own, p.C, known.walk,
           { others = panels.others, copy = panels.copy, flags = panels.flags,
             pieces = known.pieces, rank = i32(panels.rank), count = i32(panels.count) } }
end

--- All blocks are in one row, each for tiles of all panels.
function M.grid(config, m, n, l)
  local tiles = cdiv(n, config.tile[2]) * cdiv(m, config.tile[1]) * l
  return { math.min(tiles, hopper.n_blocks(config)), 1, 1 }
end

-- {====== In the kernel: the walk ======

local Gather = {}
Gather.__index = Gather

--- What the roles of the kernel know of the panels; X is the rank's own.
function M.begin(variant, _, X, panels)
  local height = variant.tile[2]
  local per_row = size(X, 1) // (VECTOR_BITS // variant.dtype.bits)
  return setmetatable({ variant = variant, own = X, panels = panels,
                        n_rows = cdiv(size(X, 0), height), n_chunks = cdiv(size(X, 1), CHUNK),
                        per_row = per_row, -- of a piece, also where it is clipped:
                        n_units = cdiv(height * min(per_row, PIECE_VECTORS),
                          WARP * variant.vectors) }, Gather)
end

--- The part of C that an entry's row is in: the panel, its distance, and the row in the panel.
function M.part(self, row)
  local distance = row // self.n_rows
  local panel = self.panels.rank + distance
  panel = where(panel < self.panels.count, panel, panel - self.panels.count)
  return { panel = panel, row = row - distance * self.n_rows, distance = distance }
end

Gather.part = M.part

-- The flag of a piece.
local function flag_of(self, distance, row, chunk)
  return ((distance - 1) * self.n_rows + row) * self.n_chunks + chunk
end

-- {====== The thread that loads ======

-- Waits until a piece of another panel has been copied.
local function await_piece(self, part, chunk)
  local flag = flag_of(self, part.distance, part.row, chunk)
  local all = cast(self.n_units, u32)
  while atomic_load(self.panels.flags, flag) < all do end
  fence_proxy_async("global")
end

--- A function (k, to, full) that brings tile k of the part's rows.
function Gather:loader(part)
  local extent, distance = {self.variant.tile[2], self.variant.tile[3]}, part.distance
  local own = tile(tma_tensor(self.own), extent, {_, _})
  local copied = tile(tma_tensor(self.panels.copy)(_, _, distance - 1), extent, {_, _})
  local steps = CHUNK // self.variant.tile[3]
  return function(k, to, full)
    if distance == 0 then
      tma_load(own(_, _, part.row, k), to, full)
    else
      if k % steps == 0 then await_piece(self, part, k // steps) end
      tma_load(copied(_, _, part.row, k), to, full)
    end
  end
end

--- Behind the block's last tile: the last of all blocks clears the flags.
function Gather:finish_loads()
  local flags = self.panels.flags
  local n = size(flags) - 1
  fence(HANDED_ON)
  local ended = atomic_add(flags, n, 1)
  fence(HANDED_ON)
  if ended == cast(gridDim.x - 1, u32) then
    local zeros, vectors = fragment(u32, WORDS), tile(flags, {WORDS}, {_})
    clear(zeros)
    for i in range(size(vectors, 1)) do copy(zeros, vectors(_, i)) end
  end
end

-- {====== The warps that copy ======

--- What is compact, as words of vectors in a row.
function M.vectors_of(t) return tile(recast(view(t, layout(size(t))), u32), {WORDS}, {_}) end

-- The unit's vectors: place(i) says where lane's i-th one is, is_inside(i) whether there is one.
local function copy_vectors(self, from, to, is_whole, place, is_inside)
  local n = self.variant.vectors
  local held = fragment(u32, {WORDS, n})
  if is_whole then
    for i = 0, n - 1 do copy(from(_, place(i)), held(_, i)) end
    for i = 0, n - 1 do copy(held(_, i), to(_, place(i))) end
  else
    for i = 0, n - 1 do
      if is_inside(i) then copy(from(_, place(i)), to(_, place(i))) end
    end
  end
end

-- Unit `unit` of a piece: vectors of the piece WARP apart, along K first. A piece of whole rows is
-- one stretch of memory.
local function copy_unit(self, from, to, row, chunk, unit)
  local n, height, per_row = self.variant.vectors, self.variant.tile[2], self.per_row
  local line, first = row * height, chunk * PIECE_VECTORS
  local lines = min(size(self.own, 0) - line, height)
  local at = unit * (WARP * n) + threadIdx.x % WARP
  if self.n_chunks == 1 then
    local all, start = lines * per_row, line * per_row
    copy_vectors(self, from, to, (unit + 1) * (WARP * n) <= all,
      function(i) return start + at + i * WARP end,
      function(i) return at + i * WARP < all end)
  else
    local function line_of(i) return (at + i * WARP) // PIECE_VECTORS end
    local function across(i) return first + (at + i * WARP) % PIECE_VECTORS end
    copy_vectors(self, from, to,
      (unit + 1) * (WARP * n) <= lines * PIECE_VECTORS and first + PIECE_VECTORS <= per_row,
      function(i) return (line + line_of(i)) * per_row + across(i) end,
      function(i) return line_of(i) < lines and across(i) < per_row end)
  end
end

-- A warp has copied a unit.
local function count_unit(self, distance, row, chunk)
  sync_warp()
  if threadIdx.x % WARP == 0 then
    fence(HANDED_ON)
    atomic_add(self.panels.flags, flag_of(self, distance, row, chunk), 1)
  end
end

--- The other panels in the order of the walk, by the warps of the group that loads but its first.
--- Units go to warps in turn.
function Gather:move()
  local panels, warp = self.panels, threadIdx.x // WARP - 1
  if warp >= 0 then
    local step, n_units = gridDim.x * N_COPIERS, self.n_units
    local in_panel = size(panels.pieces) * n_units
    for distance in range(1, panels.count) do
      local from = M.vectors_of(panels.others[distance])
      local to = M.vectors_of(panels.copy(_, _, distance - 1))
      -- Number `at` of the warp's units in all panels is in this one, from its first on.
      local before = (distance - 1) * in_panel
      local own = blockIdx.x * N_COPIERS + warp
      local start = own + cdiv(max(before - own, 0), step) * step - before
      for at in range(start, in_panel, step) do
        local piece = cast(panels.pieces[at // n_units], i32)
        local row, chunk = piece >> HALF, piece & (1 << HALF) - 1
        copy_unit(self, from, to, row, chunk, at % n_units)
        count_unit(self, distance, row, chunk)
      end
    end
  end
end

--- Of what multiplies nothing is asked.
function Gather:before_store() end -- luacheck: no self
function Gather:after_tiles() end -- luacheck: no self

--- See matmul.lua.
function M.make(variant) return hopper.make(variant, M) end

return M
