-- gemm_gather.lua: the kernel of gather_matmul: C = A B' where A's rows are spread over panels of
-- equal height, one of each rank. It is gemm_hopper.lua's, and its rows are A's. The blocks take
-- the tiles of the rank's own panel first, then those of the ranks after it. Meanwhile three warps
-- of the group that loads, which TMA does not need, copy the other panels in the same order. For
-- each row of tiles they count in a flag what they have copied, and the thread that loads waits for
-- the flag of the row that it needs.
--
-- A panel is a batch of C, so TMA clips where it ends. `distance` counts panels from the rank's
-- own. Fields of a configuration: those of gemm_hopper.lua, but no clusters; `vectors`, of 16
-- bytes, are what a thread that copies has under way.
--
-- The kernel takes as `panels`, beside the operands: {others = the panels that it copies, by
-- distance; copy = (M/W,K,W - 1), what it makes of them; rows = the rows of tiles of a panel, in
-- the order in which they are needed; flags = u32: of each row of tiles of `copy` how many units
-- are there, and last how many blocks have ended; rank =, count = W}. The flags are 0 before and
-- after each launch: the block that ends last clears them, when nobody waits any more.
local ct = require "cuttle"
local internal = ...
local hopper = require "cuttle.gemm_hopper"
local M = {}

local threadIdx, blockIdx = ct.threadIdx, ct.blockIdx
local size, tile, cdiv, copy = ct.size, ct.tile, ct.cdiv, ct.copy
local fragment, range, min = ct.fragment, ct.range, ct.min
local _ <const> = ct._

local WARP <const>, N_COPIERS <const> = 32, 3 -- lanes; warps of a block that copy
local VECTOR_BITS <const> = 128
local WORDS <const> = VECTOR_BITS // 32
local HANDED_ON <const> = { order = "acq_rel" }
local HALF <const> = 16 -- bits of an entry's column

M.n_threads, M.shared_bytes, M.knows_plain = hopper.n_threads, hopper.shared_bytes, true

-- {====== On the host ======

--- Rows of tiles that a panel of the problem has.
function M.rows_of_tiles(config, p) return cdiv(p.n, config.tile[2]) end

--- The walk through all panels, from that distance on and around, entries (distance * rows of tiles
--- + row) << 16 | column; and the rows of one panel in the order in which the walk takes them.
function M.walk_of(config, p, from)
  local rows = M.rows_of_tiles(config, p)
  local columns, entries = cdiv(p.m, config.tile[1]), {}
  local panel = hopper.curve(rows, columns, hopper.square(config))
  for i = from, from + p.l - 1 do
    for _, entry in ipairs(panel) do
      entries[#entries + 1] = entry + (i % p.l * rows << HALF)
    end
  end
  local order, seen = {}, {}
  for _, entry in ipairs(panel) do
    local row = entry >> HALF
    if not seen[row] then order[#order + 1], seen[row] = row, true end
  end
  return entries, order
end

local tables = {} -- walk and rows, by device, tiles and panels

local function tables_of(config, p)
  local key = ("%s %d %d %d %d %d"):format(p.device, p.n, p.m, p.panels.count, config.tile[1],
    config.tile[2])
  if tables[key] == nil then
    local entries, order = M.walk_of(config, p, 0)
    tables[key] = { walk = internal.table_on(ct.u32, entries, nil, p.device),
                    rows = internal.table_on(ct.u32, order, nil, p.device) }
  end
  return tables[key]
end

--- What the kernel takes before alpha and beta. p.panels: {own =, others =, copy =, flags =,
--- rank =, count =}.
function M.args(config, p)
  local known, panels = tables_of(config, p), p.panels
  local A = hopper.without_stride_0(p.A)
  return { A, panels.own, p.C, known.walk,
           { others = panels.others, copy = panels.copy, flags = panels.flags, rows = known.rows,
             rank = ct.i32(panels.rank), count = ct.i32(panels.count) } }
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
  return setmetatable({ variant = variant, own = X, panels = panels,
                        n_rows = cdiv(size(X, 0), variant.tile[2]),
                        per_row = size(X, 1) // (VECTOR_BITS // variant.dtype.bits) }, Gather)
end

--- The part of C that an entry's row is in: the panel, its distance, and the row in the panel.
function M.part(self, row)
  local distance = row // self.n_rows
  local panel = self.panels.rank + distance
  panel = ct.where(panel < self.panels.count, panel, panel - self.panels.count)
  return { panel = panel, row = row - distance * self.n_rows, distance = distance }
end

Gather.part = M.part

-- 16-byte vectors of a row of tiles, in a panel that is compact; units of these.
local function n_vectors(self, row)
  local bN = self.variant.tile[2]
  return min(size(self.own, 0) - row * bN, bN) * self.per_row
end

local function n_units(self, vectors) return cdiv(vectors, WARP * self.variant.vectors) end

-- The flag of a row of tiles.
local function flag_of(self, distance, row) return (distance - 1) * self.n_rows + row end

-- {====== The thread that loads ======

-- Waits until a row of tiles of another panel has been copied.
local function await_rows(self, part)
  local flag = flag_of(self, part.distance, part.row)
  local all = ct.cast(n_units(self, n_vectors(self, part.row)), ct.u32)
  while ct.atomic_load(self.panels.flags, flag) < all do end
  ct.fence_proxy_async("global")
end

--- A function (k, to, full) that brings tile k of the part's rows.
function Gather:loader(part)
  local extent, distance = {self.variant.tile[2], self.variant.tile[3]}, part.distance
  local own = tile(ct.tma_tensor(self.own), extent, {_, _})
  local copied = tile(ct.tma_tensor(self.panels.copy)(_, _, distance - 1), extent, {_, _})
  if distance > 0 then await_rows(self, part) end
  return function(k, to, full)
    if distance == 0 then
      ct.tma_load(own(_, _, part.row, k), to, full)
    else
      ct.tma_load(copied(_, _, part.row, k), to, full)
    end
  end
end

--- Behind the block's last tile: the last of all blocks clears the flags.
function Gather:finish_loads()
  local flags = self.panels.flags
  local n = size(flags) - 1
  ct.fence(HANDED_ON)
  local ended = ct.atomic_add(flags, n, 1)
  ct.fence(HANDED_ON)
  if ended == ct.cast(ct.gridDim.x - 1, ct.u32) then
    for i in range(n + 1) do ct.atomic_store(flags, i, 0) end
  end
end

-- {====== The warps that copy ======

-- One unit, of lanes' vectors from `at` on, WARP apart, below `last`.
local function copy_unit(self, from, to, at, last)
  local n = self.variant.vectors
  local source, target = tile(from, {WORDS}, {_}), tile(to, {WORDS}, {_})
  if at + WARP * (n - 1) < last then
    local held = fragment(ct.u32, {WORDS, n})
    for i = 0, n - 1 do copy(source(_, at + i * WARP), held(_, i)) end
    for i = 0, n - 1 do copy(held(_, i), target(_, at + i * WARP)) end
  else
    for i = 0, n - 1 do
      if at + i * WARP < last then copy(source(_, at + i * WARP), target(_, at + i * WARP)) end
    end
  end
end

-- What is compact, as one row of words.
local function in_a_row(t) return ct.recast(ct.view(t, ct.layout(size(t))), ct.u32) end

-- The units of a row of tiles from number `unit` on that are the warp's. Returns the number of the
-- next one, counted from this row's first.
local function copy_row(self, from, to, distance, row, unit)
  local first, vectors = row * self.variant.tile[2] * self.per_row, n_vectors(self, row)
  local lane, all, done = threadIdx.x % WARP, n_units(self, vectors), 0
  while unit < all do
    local at = first + unit * (WARP * self.variant.vectors) + lane
    copy_unit(self, from, to, at, first + vectors)
    unit = unit + ct.gridDim.x * N_COPIERS
    done = done + 1
  end
  if done > 0 then
    ct.sync_warp()
    if lane == 0 then
      ct.fence(HANDED_ON)
      ct.atomic_add(self.panels.flags, flag_of(self, distance, row), ct.cast(done, ct.u32))
    end
  end
  return unit - all
end

--- The other panels in the order of the walk, by the warps of the group that loads but its first.
--- Units go to warps in turn, through all rows of tiles, so that all have as many.
function Gather:move()
  local panels, warp = self.panels, threadIdx.x // WARP - 1
  if warp >= 0 then
    local unit = blockIdx.x * N_COPIERS + warp
    for distance in range(1, panels.count) do
      local from = in_a_row(panels.others[distance])
      local to = in_a_row(panels.copy(_, _, distance - 1))
      for i in range(self.n_rows) do
        unit = copy_row(self, from, to, distance, ct.cast(panels.rows[i], ct.i32), unit)
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
