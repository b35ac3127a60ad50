-- matmul_configs.lua: the configurations of matmul and which one a problem gets. A row is a
-- configuration (see matmul.lua and its template) with what it is for:
--   device   "cuda" or "cpu"
--   types    names of element types of A and B, or nil: all
--   majors   what is contiguous in A and B, "N" or "T" as BLAS says it, first of A: {NT = true}
--   sm       the least compute capability
--   only_sm  the only one, or the set of those: instructions of sm_90a are no others'
--   needs    a function of the problem and the row: may it be taken? nil: for any that it computes
--   scaled   its threads have registers for sums of blocks of K, which have scales
--   when     a function of the problem {m =, n =, k =, l =} and the row, or nil: always. p.unsplit:
--            K must stay whole, so a long K cannot be cut in parts instead
-- The first row that fits is taken, so the order is the choice by shape, as it was measured on an
-- H200. matmul_table.lua chooses before that, by results of `tune`.
local internal = ...
local devices = require "cuttle.profile_device"
local grouping = require "cuttle.gemm_groups"
local given = require "cuttle.operator_config"
local scaling = require "cuttle.gemm_scales"
local tiles = require "cuttle.tiles"
local M = {}

local SIMPLE <const>, SIMT <const> = "cuttle.gemm_simple", "cuttle.gemm_simt"
local MMA <const>, HOPPER <const> = "cuttle.gemm_mma", "cuttle.gemm_hopper"
local DOTS <const>, TCGEN05 <const> = "cuttle.gemm_dots", "cuttle.gemm_tcgen05"
local TENSOR_MEMORY <const> = { [100] = true, [103] = true, [110] = true } -- who has it
local F32 <const>, TF32 <const> = { f32 = true }, { tf32 = true }
local HALVES <const>, BYTES <const> = { f16 = true, bf16 = true }, { i8 = true, u8 = true }
local F8 <const>, F4 <const> = { f8e4m3 = true, f8e5m2 = true }, { f4e2m1 = true }
local ALL_BYTES <const> = { i8 = true, u8 = true, f8e4m3 = true, f8e5m2 = true }
local NT <const>, TN <const>, NN <const> = { NT = true }, { TN = true }, { NN = true }
local TN_TT <const>, NT_NN <const> = { TN = true, TT = true }, { NT = true, NN = true }
local MIXED <const> = { NN = true, TT = true }

-- The problem's tiles of that size; of groups as if they were equal.
local function n_tiles(p, m_tile, n_tile)
  local m, n, of = cdiv(p.m, m_tile), cdiv(p.n, n_tile), p.groups
  if of and of.mode == "m" then m = grouping.likely_tiles(p.m, of.n, m_tile) end
  if of and of.mode == "n" then n = grouping.likely_tiles(p.n, of.n, n_tile) end
  return m * n * p.l
end

-- Has the problem at least this many tiles of that size?
local function tiles_at_least(n, m_tile, n_tile)
  return function(p) return n_tiles(p, m_tile, n_tile) >= n end
end

-- Has it at least so many for each multiprocessor?
local function fills(each, m_tile, n_tile)
  return function(p) return n_tiles(p, m_tile, n_tile) >= each * p.n_sms end
end

-- Are there tiles for at most so many on each?
local function at_most(each, m_tile, n_tile)
  return function(p) return n_tiles(p, m_tile, n_tile) <= each * p.n_sms end
end

-- Can a multiprocessor have as many blocks of the row at one time as it asks for? Of its memory
-- each block costs RESERVED bytes more, so one block may have all but these.
local RESERVED <const> = 1024
local function is_resident(p, row)
  local bytes = require(row.template).shared_bytes(row, p.dtype, p.majors)
  return row.min_blocks * (bytes + RESERVED) <= p.shared + RESERVED
end

-- Is it whole tiles of the row, with nothing added to the sums? Guards and epilogues take
-- registers, and a row whose registers are limited would spill some.
local function is_bare(p, row)
  local bM, bN, bK = table.unpack(row.tile)
  return p.m % bM == 0 and p.n % bN == 0 and p.k % bK == 0 and not p.groups and p.beta == 0
    and not p.bias and not p.epilogue and not p.scales
end

-- Is there an epilogue, whose numbers would not fit into registers for all of a tile at a time?
local function is_ended(p) return p.scales ~= nil or p.epilogue ~= nil or p.bias ~= nil end

-- Tiles enough for all multiprocessors, or for so many of them, and K long enough for the tail to
-- count little.
local function deep(m_tile, n_tile, each)
  local is_full = fills(each or 1, m_tile, n_tile)
  return function(p) return p.k >= 512 and is_full(p) end
end

-- Has it few rows or columns, for which there are templates?
local function is_dots(p) return require(DOTS).is_few(p, p.sm, p.n_sms) end
local function is_narrow(p) return require(HOPPER).is_few(p, p.n_sms) end

-- Do blocks of clusters share K, in tiles of the row?
local function shares_k(p, row)
  local tile = require(HOPPER).shared_tile(p, p.n_sms)
  return tile ~= nil and tile[1] == row.tile[1] and tile[2] == row.tile[2]
    and tile[3] == (row.rows or tile[2])
end

local is_deep <const> = scaling.is_deep
local function is_wide(p) return require(HOPPER).is_wide(p) end

-- A wide problem all of whose tiles are multiplied at one time, `each` on a multiprocessor, or with
-- so few rows or columns.
local function at_once(each, m_tile, n_tile, few)
  local is_small = at_most(each, m_tile, n_tile)
  return function(p) return is_wide(p) and (is_small(p) or math.min(p.m, p.n) <= (few or 0)) end
end

-- Blocks that stay: on each multiprocessor, or on as many as squares of tiles on a curve want.
local function one_each(n_sms) return n_sms end
local function two_each(n_sms) return 2 * n_sms end
local function sixteens(n_sms) return math.max(n_sms - n_sms % 16, 1) end

-- Has it groups of at most so many rows, if they are equal, by an index?
local function in_groups_of(most)
  return function(p) return p.rows ~= nil and p.swapped and p.n <= most * p.groups.n end
end
local function never() return false end -- what is only taken by name
local function fits_192(p) return at_once(1, 192, 128)(p) or require(HOPPER).fills_better(p) end

-- A row of Hopper's template. If it does not say otherwise, groups share a tile, and the order of
-- tiles says how many blocks stay for them.
local function hopper(row)
  row.device, row.template, row.only_sm = "cuda", HOPPER, 90
  row.schedule = row.schedule or "cooperative"
  if row.order == "groups" then row.group, row.blocks = 16, one_each end
  if row.order == "hilbert" then row.blocks = row.blocks or sixteens end
  return row
end

M.list = {
  -- f32 on CUDA cores. Few rows or columns want small tiles, and K whole. Small K wants small
  -- tiles: their tails and stores of C overlap. A deeper tile of K wins only where K is long, as
  -- its first one comes later. Slices of K give a multiprocessor enough warps where it has a single
  -- tile. What limits registers or pins reads was measured with at least two rounds of blocks.
  { name = "dots 32x16x32", device = "cuda", template = DOTS, types = F32, sm = 80, majors = TN,
    tile = { 32, 16, 32 }, warps = { 2, 2 }, stages = 6, order = "serpentine",
    when = function(p) return p.n <= 16 and is_dots(p) end },
  { name = "dots 16x32x32", device = "cuda", template = DOTS, types = F32, sm = 80, majors = TN,
    tile = { 16, 32, 32 }, warps = { 2, 2 }, stages = 6, order = "serpentine",
    when = function(p) return p.m <= 16 and is_dots(p) end },
  { name = "dots 32x32x32", device = "cuda", template = DOTS, types = F32, sm = 80, majors = TN,
    tile = { 32, 32, 32 }, warps = { 2, 2 }, stages = 6, order = "serpentine",
    when = function(p) return math.min(p.m, p.n) <= 32 and is_dots(p) end },
  { name = "dots 64x32x32", device = "cuda", template = DOTS, types = F32, sm = 80, majors = TN,
    tile = { 64, 32, 32 }, warps = { 2, 2 }, stages = 5, order = "serpentine",
    when = function(p) return is_dots(p) end },
  { name = "dots 64x64x32", device = "cuda", template = DOTS, types = F32, sm = 80, majors = TN,
    tile = { 64, 64, 32 }, warps = { 4, 2 }, stages = 4, order = "serpentine",
    when = function(p) return p.unsplit and at_most(2, 64, 64)(p) end },
  { name = "simt 256x128x16", device = "cuda", template = SIMT, types = F32, sm = 80, majors = NT,
    tile = { 256, 128, 16 }, lanes = { 8, 4 }, warps = { 2, 4 }, stages = 4, min_blocks = 1,
    order = "m4 ~n2 ~m ~n", group = 8, emission = { registers = 208 },
    when = deep(256, 128, 0.95) },
  { name = "simt 128x64x16", device = "cuda", template = SIMT, types = F32, sm = 80, majors = NT,
    tile = { 128, 64, 16 }, lanes = { 8, 4 }, warps = { 2, 2 }, stages = 3, min_blocks = 4,
    order = "m2 ~n m", when = fills(1, 128, 64) },
  { name = "simt 128x128x16 turned", device = "cuda", template = SIMT, types = F32, sm = 80,
    majors = TN, tile = { 128, 128, 16 }, lanes = { 8, 4 }, warps = { 2, 2 }, stages = 3,
    min_blocks = 2, order = "n ~m", turn = "async", lane_bits = { 4, 16 },
    needs = is_resident,
    when = function(p) return p.k > 2048 and fills(4, 128, 128)(p) end },
  { name = "simt 128x128x8 turned", device = "cuda", template = SIMT, types = F32, sm = 80,
    majors = TN, tile = { 128, 128, 8 }, lanes = { 8, 4 }, warps = { 2, 2 }, stages = 3,
    min_blocks = 2, order = "n ~m", turn = "async", lane_bits = { 4, 16 },
    when = deep(128, 128) },
  { name = "simt 128x128x8 turned, 200 registers", device = "cuda", template = SIMT, types = F32,
    sm = 80, majors = TN, tile = { 128, 128, 8 }, lanes = { 8, 4 }, warps = { 2, 2 }, stages = 3,
    min_blocks = 2, order = "n ~m", turn = "async", lane_bits = { 4, 16 },
    emission = { registers = 200 }, needs = is_bare, when = fills(4, 128, 128) },
  { name = "simt 128x128x8 turned, small K", device = "cuda", template = SIMT, types = F32,
    sm = 80, majors = TN, tile = { 128, 128, 8 }, lanes = { 8, 4 }, warps = { 2, 2 }, stages = 3,
    min_blocks = 2, order = "n ~m", turn = "async", lane_bits = { 1, 4 },
    when = fills(1, 128, 128) },
  { name = "simt 256x128x16 turned", device = "cuda", template = SIMT, types = F32, sm = 80,
    majors = NN, tile = { 256, 128, 16 }, lanes = { 8, 4 }, warps = { 2, 4 },
    stages = 4, min_blocks = 1, order = "n2 ~m n", turn = "async", when = deep(256, 128) },
  { name = "simt 128x128x8 turned A", device = "cuda", template = SIMT, types = F32, sm = 80,
    majors = { TT = true }, tile = { 128, 128, 8 }, lanes = { 8, 4 }, warps = { 2, 2 },
    stages = 3, min_blocks = 2, order = "n2 ~m n", turn = "async", when = deep(128, 128) },
  { name = "simt 128x64x16 turned, pinned", device = "cuda", template = SIMT, types = F32,
    sm = 80, majors = NN, tile = { 128, 64, 16 }, lanes = { 8, 4 }, warps = { 2, 2 },
    stages = 3, min_blocks = 4, order = "n2 m ~n", turn = "registers", emission = { pin = true },
    needs = is_bare, when = fills(8, 128, 64) },
  { name = "simt 128x64x16 turned", device = "cuda", template = SIMT, types = F32, sm = 80,
    majors = MIXED, tile = { 128, 64, 16 }, lanes = { 8, 4 }, warps = { 2, 2 }, stages = 3,
    min_blocks = 4, order = "n2 m ~n", turn = "registers", when = fills(1, 128, 64) },
  { name = "simt 128x64x32 turned, 2 slices", device = "cuda", template = SIMT, types = F32,
    sm = 80, majors = TN, tile = { 128, 64, 32 }, lanes = { 8, 4 }, warps = { 2, 2 }, slices = 2,
    stages = 3, min_blocks = 1, order = "n2 ~m n", turn = "async",
    when = function(p)
      return p.k >= 512 and not at_most(0.5, 128, 64)(p) and at_most(1, 128, 64)(p)
    end },
  { name = "simt 64x64x16", device = "cuda", template = SIMT, types = F32, sm = 80, majors = NT,
    tile = { 64, 64, 16 }, lanes = { 8, 4 }, warps = { 1, 2 }, stages = 4, min_blocks = 6,
    order = "m2 ~n m" },
  { name = "simt 64x64x16 turned", device = "cuda", template = SIMT, types = F32, sm = 80,
    majors = { TN = true, NN = true, TT = true }, tile = { 64, 64, 16 }, lanes = { 8, 4 },
    warps = { 1, 2 }, stages = 3, min_blocks = 6, order = "n2 m ~n", turn = "registers" },

  -- Hopper's tensor cores. Few rows or columns want many stages, and nothing loaded in vain. Else
  -- the smallest tile of which all are multiplied at one time; else 256x128, and by ping-pong where
  -- K is short, which hides the stores. Blocks that stay for one tile want more stages and an early
  -- launch. By Hilbert's curve what runs at one time on multiprocessors that share a way to the L2
  -- cache is a square, too. Others are taken by name; scripts/bench/configs.lua has more.
  hopper{ name = "hopper 256x64x64, ping-pong, gather", types = HALVES, tile = { 256, 64, 64 },
    schedule = "ping-pong", stages = 4, registers = { 56, 224 }, store = { 1, 2 }, order = "groups",
    gathers = true, when = in_groups_of(512) },
  hopper{ name = "hopper 256x64x64, ping-pong", types = HALVES, tile = { 256, 64, 64 },
    schedule = "ping-pong", stages = 4, registers = { 40, 232 }, store = { 1, 2 }, order = "groups",
    when = in_groups_of(64) },
  hopper{ name = "hopper 192x128x64, ping-pong", types = HALVES, majors = TN,
    tile = { 192, 128, 64 }, schedule = "ping-pong", stages = 4, registers = { 40, 232 },
    store = { 1, 2 }, order = "hilbert", blocks = one_each,
    when = function(p) return p.k <= 1024 and fills(2, 192, 128)(p) end },
  hopper{ name = "hopper 64x64x64, 16 rows, K in 2", types = HALVES, majors = TN,
    tile = { 64, 64, 64 }, rows = 16, groups = 1, stages = 12, store = { 1, 1 }, order = "columns",
    k_blocks = 2, pdl = true, when = shares_k },
  hopper{ name = "hopper 64x64x64, 32 rows, K in 2", types = HALVES, majors = TN,
    tile = { 64, 64, 64 }, rows = 32, groups = 1, stages = 12, store = { 1, 1 }, order = "columns",
    k_blocks = 2, pdl = true, when = shares_k },
  hopper{ name = "hopper 32x64x64, K in 2", types = HALVES, majors = TN, tile = { 32, 64, 64 },
    groups = 1, stages = 12, store = { 1, 1 }, order = "columns", k_blocks = 2, pdl = true,
    when = shares_k },
  hopper{ name = "hopper 64x64x64, K in 2", types = HALVES, majors = TN, tile = { 64, 64, 64 },
    groups = 1, stages = 12, store = { 1, 1 }, order = "columns", k_blocks = 2, pdl = true,
    when = shares_k },
  hopper{ name = "hopper 32x64x64, 16 rows", types = HALVES, majors = TN, tile = { 32, 64, 64 },
    rows = 16, groups = 1, stages = 12, store = { 1, 1 }, order = "columns", blocks = two_each,
    pdl = true,
    when = function(p) return p.n <= 16 and at_most(1, 32, 64)(p) and is_narrow(p) end },
  hopper{ name = "hopper 64x64x64, 16 rows", types = HALVES, majors = TN, tile = { 64, 64, 64 },
    rows = 16, groups = 1, stages = 12, store = { 1, 1 }, order = "columns", blocks = two_each,
    pdl = true, when = function(p) return p.n <= 16 and is_narrow(p) end },
  hopper{ name = "hopper 32x64x64, 32 rows", types = HALVES, majors = TN, tile = { 32, 64, 64 },
    rows = 32, groups = 1, stages = 12, store = { 1, 1 }, order = "columns", blocks = two_each,
    pdl = true,
    when = function(p) return p.n <= 32 and at_most(1, 32, 64)(p) and is_narrow(p) end },
  hopper{ name = "hopper 64x64x64, 32 rows", types = HALVES, majors = TN, tile = { 64, 64, 64 },
    rows = 32, groups = 1, stages = 12, store = { 1, 1 }, order = "columns", blocks = two_each,
    pdl = true, when = function(p) return p.n <= 32 and is_narrow(p) end },
  hopper{ name = "hopper 16x64x64", types = HALVES, majors = TN, tile = { 16, 64, 64 }, groups = 1,
    stages = 16, store = { 1, 1 }, order = "columns", blocks = two_each, pdl = true,
    when = function(p) return p.m <= 16 and is_narrow(p) end },
  hopper{ name = "hopper 32x64x64, 12 stages", types = HALVES, majors = TN, tile = { 32, 64, 64 },
    groups = 1, stages = 12, store = { 1, 1 }, order = "columns", blocks = two_each, pdl = true,
    when = function(p) return is_narrow(p) or p.unsplit and at_most(1, 32, 64)(p) end },
  hopper{ name = "hopper 64x128x64, K in 2", types = HALVES, majors = TN, tile = { 64, 128, 64 },
    stages = 7, store = { 1, 1 }, order = "columns", k_blocks = 2, pdl = true, when = shares_k },
  hopper{ name = "hopper 128x64x64, K in 2", types = HALVES, majors = TN, tile = { 128, 64, 64 },
    groups = 1, stages = 7, store = { 1, 1 }, order = "columns", k_blocks = 2, pdl = true,
    when = shares_k },
  hopper{ name = "hopper 64x64x64", types = HALVES, tile = { 64, 64, 64 }, groups = 1, stages = 6,
    store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2, pdl = true,
    when = at_once(2, 64, 64, 64) },
  hopper{ name = "hopper 128x128x64", types = HALVES, tile = { 128, 128, 64 }, stages = 6,
    store = { 1, 2 }, order = "groups", pdl = true, when = at_once(1, 128, 128) },
  hopper{ name = "hopper 192x128x64", types = HALVES, tile = { 192, 128, 64 }, stages = 4,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true, when = fits_192 },
  hopper{ name = "hopper 128x256x64, early", types = HALVES, tile = { 128, 256, 64 }, stages = 4,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = function(p) return is_wide(p) and p.m <= 128 and fills(0.9, 128, 256)(p) end },
  hopper{ name = "hopper 128x256x64", types = HALVES, tile = { 128, 256, 64 }, stages = 4,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups",
    when = function(p) return is_wide(p) and p.m <= 128 end },
  hopper{ name = "hopper 256x128x64, 4 stages", types = HALVES, tile = { 256, 128, 64 }, stages = 4,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 256, 128) },
  hopper{ name = "hopper 256x128x64, long K", types = HALVES, tile = { 256, 128, 64 },
    behind = true, stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = function(p) return is_wide(p) and p.k >= 16384 end },
  hopper{ name = "hopper 256x128x64", types = HALVES, tile = { 256, 128, 64 }, stages = 3,
    registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert", when = is_wide },
  hopper{ name = "hopper 128x128x64, gather", types = HALVES, tile = { 128, 128, 64 }, stages = 6,
    store = { 1, 2 }, order = "groups", gathers = true,
    when = function(p) return is_wide(p) and (p.m <= 128 or at_most(1, 128, 128)(p)) end },
  hopper{ name = "hopper 256x128x64, gather", types = HALVES, tile = { 256, 128, 64 }, stages = 4,
    registers = { 56, 224 }, store = { 1, 2 }, order = "groups", gathers = true, when = is_wide },
  hopper{ name = "hopper 32x64x64", types = HALVES, majors = TN_TT, tile = { 32, 64, 64 },
    groups = 1, stages = 8, store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2,
    pdl = true, when = never },
  hopper{ name = "hopper 128x64x64", types = HALVES, tile = { 128, 64, 64 }, groups = 1, stages = 4,
    store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2, pdl = true,
    when = never },
  hopper{ name = "hopper 64x128x64", types = HALVES, tile = { 64, 128, 64 }, stages = 3,
    store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2, pdl = true,
    when = never },
  hopper{ name = "hopper 256x128x64, stream-K", types = HALVES, majors = TN, stream_k = true,
    tile = { 256, 128, 64 }, stages = 3, registers = { 40, 232 }, store = { 4, 1 },
    order = "groups", when = never },
  hopper{ name = "hopper 64x64x32", types = TF32, majors = TN_TT, tile = { 64, 64, 32 }, groups = 1,
    stages = 6, store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2, pdl = true,
    when = at_once(2, 64, 64) },
  hopper{ name = "hopper 64x64x32, across", types = TF32, majors = NN, tile = { 64, 64, 32 },
    across = true, groups = 1, stages = 6, store = { 1, 1 }, order = "columns", blocks = two_each,
    min_blocks = 2, pdl = true, when = at_once(2, 64, 64) },
  hopper{ name = "hopper 128x128x32", types = TF32, majors = TN_TT, tile = { 128, 128, 32 },
    stages = 6, registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 128, 128) },
  hopper{ name = "hopper 128x128x32, across", types = TF32, majors = NN, tile = { 128, 128, 32 },
    across = true, stages = 6, registers = { 40, 232 }, store = { 1, 2 }, order = "groups",
    pdl = true, when = at_once(1, 128, 128) },
  hopper{ name = "hopper 256x128x32", types = TF32, majors = TN_TT, tile = { 256, 128, 32 },
    stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = fills(0.5, 256, 128) },
  hopper{ name = "hopper 256x128x32, across", types = TF32, majors = NN, tile = { 256, 128, 32 },
    across = true, stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 64x128x32", types = TF32, majors = NT, tile = { 64, 128, 32 }, stages = 8,
    registers = { 104, 200 }, store = { 1, 2 }, order = "columns", blocks = one_each, pdl = true,
    when = at_once(2, 64, 128) },
  hopper{ name = "hopper 128x256x32", types = TF32, majors = NT_NN, tile = { 128, 256, 32 },
    stages = 4, registers = { 104, 200 }, store = { 1, 2 }, order = "hilbert",
    when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 64x64x128", types = ALL_BYTES, majors = TN, tile = { 64, 64, 128 },
    groups = 1, stages = 6, store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2,
    pdl = true, when = at_once(2, 64, 64) },
  hopper{ name = "hopper 128x128x128", types = ALL_BYTES, majors = TN_TT, tile = { 128, 128, 128 },
    stages = 6, registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 128, 128) },
  hopper{ name = "hopper 128x128x128, across", types = ALL_BYTES, majors = NN,
    tile = { 128, 128, 128 }, across = true, stages = 6, registers = { 40, 232 }, store = { 1, 2 },
    order = "groups", pdl = true, when = at_once(1, 128, 128) },
  hopper{ name = "hopper 128x128x128, ping-pong", types = BYTES, majors = TN,
    tile = { 128, 128, 128 }, schedule = "ping-pong", stages = 5, registers = { 40, 232 },
    store = { 1, 2 }, order = "hilbert",
    when = function(p) return fills(1, 128, 128)(p) and not fills(8, 256, 128)(p) end },
  hopper{ name = "hopper 192x128x128, ping-pong", types = BYTES, majors = TN,
    tile = { 192, 128, 128 }, schedule = "ping-pong", stages = 4, registers = { 40, 232 },
    store = { 1, 2 }, order = "hilbert", blocks = one_each, when = fills(8, 256, 128) },
  hopper{ name = "hopper 256x128x128, in passes", types = F8, majors = TN, tile = { 256, 128, 128 },
    stages = 3, registers = { 40, 232 }, store = { 2, 2 }, order = "hilbert",
    when = function(p) return is_ended(p) and fills(0.5, 256, 128)(p) end },
  hopper{ name = "hopper 256x128x128", types = ALL_BYTES, majors = TN_TT, tile = { 256, 128, 128 },
    stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = fills(0.5, 256, 128) },
  hopper{ name = "hopper 256x128x128, across", types = ALL_BYTES, majors = NN,
    tile = { 256, 128, 128 }, across = true, stages = 3, registers = { 40, 232 }, store = { 4, 1 },
    order = "hilbert", when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 128x256x128", types = ALL_BYTES, majors = NT_NN, tile = { 128, 256, 128 },
    stages = 4, registers = { 104, 200 }, store = { 1, 2 }, order = "hilbert",
    when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 256x128x128, scaled", types = F8, majors = TN, tile = { 256, 128, 128 },
    stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert", scaled = true,
    parts = 4, at_once = 2,
    when = function(p) return is_deep(p) and is_wide(p) and fills(1, 256, 128)(p) end },
  hopper{ name = "hopper 128x128x128, scaled", types = F8, majors = TN, tile = { 128, 128, 128 },
    stages = 5, registers = { 56, 224 }, store = { 1, 2 }, order = "groups", scaled = true,
    when = function(p) return is_deep(p) and is_wide(p) and fills(0.5, 128, 128)(p) end },
  hopper{ name = "hopper 64x64x128, scaled", types = F8, majors = TN, tile = { 64, 64, 128 },
    groups = 1, stages = 5, store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2,
    scaled = true, when = function(p) return is_deep(p) and is_wide(p) end },
  hopper{ name = "hopper 128x64x32", types = TF32, majors = TN, tile = { 128, 64, 32 }, groups = 1,
    stages = 4, store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2, pdl = true,
    when = never },
  hopper{ name = "hopper 128x64x128", types = ALL_BYTES, majors = TN, tile = { 128, 64, 128 },
    groups = 1, stages = 4, store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2,
    pdl = true, when = never },

  -- Tensor memory. No hardware has run these: the model predicts what is bound by loads from L2,
  -- of which pairs of blocks need fewer.
  { name = "tcgen05 256x128x64, pairs", device = "cuda", template = TCGEN05, types = HALVES,
    only_sm = TENSOR_MEMORY, tile = { 256, 128, 64 }, stages = 6, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 256, 128)(p) end },
  { name = "tcgen05 128x128x64", device = "cuda", template = TCGEN05, types = HALVES,
    only_sm = TENSOR_MEMORY, tile = { 128, 128, 64 }, stages = 6, when = is_wide },
  { name = "tcgen05 256x128x128, pairs", device = "cuda", template = TCGEN05, types = F8,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 256, 128, 128 }, stages = 6, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 256, 128)(p) end },
  { name = "tcgen05 128x128x128", device = "cuda", template = TCGEN05, types = F8,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 128, 128, 128 }, stages = 6, when = is_wide },
  { name = "tcgen05 256x128x32, pairs", device = "cuda", template = TCGEN05, types = TF32,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 256, 128, 32 }, stages = 6, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 256, 128)(p) end },
  { name = "tcgen05 128x128x32", device = "cuda", template = TCGEN05, types = TF32,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 128, 128, 32 }, stages = 6, when = is_wide },

  -- With scales of 16 or 32 of K. Nothing else multiplies floats of 4 bits, on the CPU engine, too.
  { name = "tcgen05 128x128x128, MXFP8, pairs", device = "cuda", template = TCGEN05, types = F8,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 128, 128, 128 }, stages = 5, scale_warps = 4,
    cluster = 2, when = function(p) return is_wide(p) and fills(1, 128, 256)(p) end },
  { name = "tcgen05 128x128x128, MXFP8", device = "cuda", template = TCGEN05, types = F8,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 128, 128, 128 }, stages = 4, scale_warps = 4,
    when = is_wide },
  { name = "tcgen05 128x128x256, FP4, pairs", device = "cuda", template = TCGEN05, types = F4,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 128, 128, 256 }, stages = 4, scale_warps = 4,
    cluster = 2, when = function(p) return fills(1, 128, 256)(p) end },
  { name = "tcgen05 128x128x256, FP4", device = "cuda", template = TCGEN05, types = F4,
    only_sm = TENSOR_MEMORY, majors = TN, tile = { 128, 128, 256 }, stages = 4, scale_warps = 4 },
  { name = "cpu tcgen05 128x128x256, FP4", device = "cpu", template = TCGEN05, types = F4,
    majors = TN, tile = { 128, 128, 256 }, stages = 2, scale_warps = 4 },

  -- Tensor cores. Small problems want small tiles, so that all multiprocessors have some.
  { name = "mma 128x256x64", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 128, 256, 64 }, warps = { 2, 4 }, stages = 4, min_blocks = 1, group = 8,
    when = function(p) return not p.nested and deep(128, 256)(p) end },
  { name = "mma 128x128x64", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 128, 128, 64 }, warps = { 2, 2 }, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  { name = "mma 128x64x64", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 128, 64, 64 }, warps = { 2, 2 }, stages = 4, min_blocks = 2,
    when = fills(1, 128, 64) },
  { name = "mma 64x64x64", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 64, 64, 64 }, warps = { 2, 2 }, stages = 4, min_blocks = 3 },
  { name = "mma 128x256x64, f16 sums", device = "cuda", template = MMA, types = { f16 = true },
    sm = 80, tile = { 128, 256, 64 }, warps = { 2, 4 }, stages = 4, min_blocks = 1, group = 8,
    sums = "f16", when = never },
  -- Where a block has less memory than Hopper's; taken by results.
  { name = "mma 128x256x64, 3 stages", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 128, 256, 64 }, warps = { 2, 4 }, stages = 3, min_blocks = 1, group = 8,
    when = never },
  { name = "mma 128x256x32, 16 bits", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 128, 256, 32 }, warps = { 2, 4 }, stages = 4, min_blocks = 1, group = 8,
    when = never },
  { name = "mma 128x128x32, 16 bits", device = "cuda", template = MMA, types = HALVES, sm = 80,
    tile = { 128, 128, 32 }, warps = { 2, 2 }, stages = 3, min_blocks = 2, when = never },
  { name = "mma 128x256x32", device = "cuda", template = MMA, types = TF32, sm = 80,
    tile = { 128, 256, 32 }, warps = { 2, 4 }, stages = 4, min_blocks = 1, group = 8,
    when = deep(128, 256) },
  { name = "mma 128x128x32", device = "cuda", template = MMA, types = TF32, sm = 80,
    tile = { 128, 128, 32 }, warps = { 2, 2 }, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  { name = "mma 64x64x32", device = "cuda", template = MMA, types = TF32, sm = 80,
    tile = { 64, 64, 32 }, warps = { 2, 2 }, stages = 4, min_blocks = 3 },
  { name = "mma 128x256x32, 3 stages", device = "cuda", template = MMA, types = TF32, sm = 80,
    tile = { 128, 256, 32 }, warps = { 2, 4 }, stages = 3, min_blocks = 1, group = 8,
    when = never },
  { name = "mma 128x128x16, tf32", device = "cuda", template = MMA, types = TF32, sm = 80,
    tile = { 128, 128, 16 }, warps = { 2, 2 }, stages = 3, min_blocks = 2, when = never },
  { name = "mma 128x256x128", device = "cuda", template = MMA, types = BYTES, sm = 80,
    tile = { 128, 256, 128 }, warps = { 2, 4 }, stages = 4, min_blocks = 1, group = 8,
    when = deep(128, 256) },
  { name = "mma 128x128x128", device = "cuda", template = MMA, types = BYTES, sm = 80,
    tile = { 128, 128, 128 }, warps = { 2, 2 }, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  { name = "mma 64x64x128", device = "cuda", template = MMA, types = BYTES, sm = 80,
    tile = { 64, 64, 128 }, warps = { 2, 2 }, stages = 4, min_blocks = 3 },

  -- Sums of blocks of K that have scales take as many registers as those of all K. On sm_90
  -- mma.sync has no f8: the compiler casts to f16 first, which takes registers, too.
  { name = "mma 128x128x128, 8 warps", device = "cuda", template = MMA, types = F8, only_sm = 89,
    tile = { 128, 128, 128 }, warps = { 4, 2 }, stages = 3, min_blocks = 1, scaled = true,
    when = function(p) return is_deep(p) and fills(1, 128, 128)(p) end },
  { name = "mma 128x128x128, f8", device = "cuda", template = MMA, types = F8, only_sm = 89,
    tile = { 128, 128, 128 }, warps = { 2, 2 }, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  { name = "mma 64x64x128, f8", device = "cuda", template = MMA, types = F8, sm = 89,
    tile = { 64, 64, 128 }, warps = { 2, 2 }, stages = 4, min_blocks = 2, scaled = true },

  -- Everything else.
  { name = "simple 128x128x8", device = "cuda", template = SIMPLE, tile = { 128, 128, 8 },
    threads = { 16, 16 }, stages = 3, order = "serpentine",
    when = function(p) return p.dtype.bits <= 32 and tiles_at_least(256, 128, 128)(p) end },
  { name = "simple 64x64x16", device = "cuda", template = SIMPLE, tile = { 64, 64, 16 },
    threads = { 8, 8 }, stages = 3, order = "serpentine",
    when = function(p) return p.dtype.bits <= 32 end },
  { name = "simple 64x64x8", device = "cuda", template = SIMPLE, tile = { 64, 64, 8 },
    threads = { 16, 16 }, stages = 3, order = "serpentine" },
  { name = "cpu 128x128x32", device = "cpu", template = SIMPLE, tile = { 128, 128, 32 },
    threads = { 16, 8 }, stages = 2, order = "columns", when = tiles_at_least(2, 128, 128) },
  { name = "cpu 64x64x32", device = "cpu", template = SIMPLE, tile = { 64, 64, 32 },
    threads = { 8, 4 }, stages = 2, order = "columns", when = tiles_at_least(2, 64, 64) },
  { name = "cpu 32x32x8", device = "cpu", template = SIMPLE, tile = { 32, 32, 8 },
    threads = { 8, 4 }, stages = 2, order = "columns" },
}

local majors_of <const> = { mn = { mn = "NT", k = "NN" }, k = { mn = "TT", k = "TN" } }

--- What choices look at: the type's name, the majorness as BLAS calls it ("NT", "TN", "NN" or
--- "TT"), the kind of device, its compute capability, a block's shared memory, how many
--- multiprocessors there are, and what else is known of it. Of a text that `cuttle emit` writes
--- they are the target's, and of a problem that has a target that one's.
function M.facts(p)
  if p.type_name == nil then
    p.type_name, p.majors = p.dtype.name, majors_of[p.a_major][p.b_major]
  end
  if p.target == nil then
    local emit_sm, _, emit_bytes = internal.launch.emit_sm()
    p.target = (emit_sm or p.device ~= "cpu") and "cuda" or "cpu"
    local device = p.target == "cuda" and not emit_sm and device() or {}
    p.sm, p.shared = emit_sm or device.sm or 0, emit_sm and emit_bytes or device.shared_bytes or 0
    p.n_sms, p.place = devices.n_sms(device), device
  end
  return p
end
local facts <const> = M.facts

--- Does a GPU have the row's instructions and the memory for its tiles?
function M.can_run(row, dtype, majors, sm, shared)
  local bytes_of = require(row.template).shared_bytes
  local only = row.only_sm
  return sm >= (row.sm or 0) and (only == nil or sm == only or type(only) == "table" and only[sm])
    and (bytes_of == nil or bytes_of(row, dtype, majors) <= shared)
end

--- Can the row's kernel compute the problem at all? The CPU engine runs what any GPU runs.
function M.can_compute(row, p)
  facts(p)
  if row.types and not row.types[p.type_name] or row.majors and not row.majors[p.majors] then
    return false -- most rows, at least cost
  elseif p.nested and not require(row.template).takes_nested then
    return false
  end
  local trouble = require(row.template).trouble
  if scaling.trouble(row, p) then return false end
  return (row.template == SIMPLE or p.k > 0) and (trouble == nil or trouble(row, p) == nil)
    and (p.target == "cpu" or M.can_run(row, p.dtype, p.majors, p.sm, p.shared))
end

--- Is the row meant for the problem's type, strides and device?
function M.fits(row, p) return row.device == facts(p).target and M.can_compute(row, p) end

-- Of gathered operands the simple kernel was measured to be faster than those for f32.
local function is_slowed(row, p)
  return row.template == SIMT and p.nested ~= nil and (p.nested.A or p.nested.B) ~= nil
end

--- Is it, and may the problem have it?
function M.accepts(row, p)
  return M.fits(row, p) and (row.needs == nil or row.needs(p, row)) and not is_slowed(row, p)
end

--- The rows that are meant for the problem's type, strides and device.
function M.of(p)
  local rows = {}
  for _, row in ipairs(M.list) do
    if M.fits(row, p) then rows[#rows + 1] = row end
  end
  return rows
end

-- Why a row's kernel does not compute the problem; nil: it does, or not on this device or for
-- this type or major.
local function trouble_of(row, p)
  local template = require(row.template)
  return p.nested and not template.takes_nested and "it supports no mode with more than one stride"
    or scaling.trouble(row, p) or template.trouble and template.trouble(row, p) or nil
end

local function by_name(name, p)
  for _, row in ipairs(M.list) do
    if row.name == name then
      if not M.can_compute(row, p) then
        local why = trouble_of(row, p)
        tiles.fail("matmul", "configuration '%s' is not for this problem: %s, %s, K = %d, on %s%s",
          name, p.dtype, p.majors, p.k, p.device, why and "; " .. why or "")
      end
      return row
    end
  end
  local names = {}
  for _, row in ipairs(M.of(p)) do names[#names + 1] = "'" .. row.name .. "'" end
  tiles.fail("matmul", "there is no configuration '%s'; for this problem there are %s", name,
    table.concat(names, ", "))
end

--- A table that the option of that name gave, which must be a configuration.
function M.checked(row, option)
  given.check("matmul", option, row, M.list)
  return row
end

-- Why no row is for a type that the plain template does not have: what the type's own row says.
local function reason(p)
  for _, row in ipairs(M.list) do
    if row.device == p.target and row.types and row.types[p.type_name] then
      local why = p.k == 0 and "K is 0"
        or row.majors and not row.majors[p.majors] and "A and B must be contiguous along K"
        or trouble_of(row, p)
        or ("it needs sm_100a, sm_103a or sm_110a, and this is sm_%d"):format(p.sm)
      return ("; of '%s': %s"):format(row.name, why)
    end
  end
  return ""
end

--- The row for a problem; `wanted`: its name, or a configuration itself, or nil.
function M.choose(p, wanted)
  if type(wanted) == "table" then return wanted end
  if wanted ~= nil then return by_name(tostring(wanted), p) end
  for _, row in ipairs(M.list) do
    if M.accepts(row, p) and (row.when == nil or row.when(p, row)) then return row end
  end
  tiles.fail("matmul", "no configuration multiplies %s on %s%s", p.dtype, p.target, reason(p))
end

--- Of the rows for which keeps(row) is true, the one that is taken for the problem or, if none is
--- meant for it, the one whose tiles take the multiprocessors the least time; nil if there is none.
function M.best(p, keeps)
  for _, row in ipairs(M.list) do
    if keeps(row) and M.accepts(row, p) and (row.when == nil or row.when(p, row)) then
      return row
    end
  end
  local least, best = math.huge, nil
  for _, row in ipairs(M.list) do
    local bM, bN = row.tile[1], row.tile[2]
    local work = cdiv(n_tiles(p, bM, bN), p.n_sms) * bM * bN
    if work < least and M.can_compute(row, p) and keeps(row) then least, best = work, row end
  end
  return best
end

return M
