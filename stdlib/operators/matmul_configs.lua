-- matmul_configs.lua: the configurations of matmul; matmul_choice.lua chooses one. A row is a
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
local grouping = require "cuttle.gemm_groups"
local scaling = require "cuttle.gemm_scales"
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

--- The problem's tiles of that size; of groups as if they were equal.
function M.n_tiles(p, m_tile, n_tile)
  local m, n, of = cdiv(p.m, m_tile), cdiv(p.n, n_tile), p.groups
  if of and of.mode == "list" then return grouping.listed_tiles(of.sizes, m_tile, n_tile) end
  if of and of.mode == "m" then m = grouping.likely_tiles(p.m, of.n, m_tile) end
  if of and of.mode == "n" then n = grouping.likely_tiles(p.n, of.n, n_tile) end
  return m * n * p.l
end
local n_tiles <const> = M.n_tiles

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

-- Are tiles of 128x128 by ping-pong faster than those of 192x128? For each number that a
-- multiprocessor computes, also of tiles that overhang, they take 1 / NARROWER of the time.
local NARROWER <const> = 0.93
local function computed(p, m_tile, n_tile)
  return cdiv(n_tiles(p, m_tile, n_tile), p.n_sms) * m_tile * n_tile
end
local function fits_128(p) return computed(p, 128, 128) < NARROWER * computed(p, 192, 128) end
local function fits_192(p) return at_once(1, 192, 128)(p) or require(HOPPER).fills_better(p) end

-- A row for GPUs of a template, whose fields are those of all such rows where it has no others. Its
-- name says the tile, and which rows of it are there, if not all.
local function row_of(template, fields, row)
  row.device, row.template = "cuda", template
  local m, n, k = row.name:match "(%d+)x(%d+)x(%d+)"
  local rows = row.name:match ", (%d+) rows"
  row.tile, row.rows = { tonumber(m), tonumber(n), tonumber(k) }, rows and tonumber(rows)
  for key, value in pairs(fields) do
    if row[key] == nil then row[key] = value end
  end
  return row
end

-- What makes rows of a template.
local function rows_of(template, fields)
  return function(row) return row_of(template, fields, row) end
end

-- A row of Hopper's template. If it does not say otherwise, groups share a tile, and the order of
-- tiles says how many blocks stay for them.
local function hopper(row)
  row_of(HOPPER, { only_sm = 90, schedule = "cooperative" }, row)
  if row.order == "groups" then row.group, row.blocks = 16, one_each end
  if row.order == "hilbert" then row.blocks = row.blocks or sixteens end
  return row
end

-- Of tiles so few that none is stored while the next one is multiplied. The launch may begin early.
local function narrow(row)
  row.groups, row.store, row.order, row.pdl = row.groups or 1, { 1, 1 }, "columns", true
  row.blocks = row.k_blocks == nil and two_each or nil
  return hopper(row)
end

-- The same in pairs of blocks that share K.
local function in_two(row)
  row.types, row.majors, row.k_blocks, row.when = HALVES, TN, 2, shares_k
  return narrow(row)
end

-- For so few rows or columns, where tiles as wide as these give nearly every multiprocessor as many
-- as the others, one or two.
local FILLED <const>, ROUNDS <const> = 0.85, 2
local function even(wide, few, across)
  local groups = few // 64
  return hopper{ name = ("hopper %dx%dx64%s"):format(wide, few, across and ", across" or ""),
    types = HALVES, majors = TN, across = across, groups = groups, stages = groups == 1 and 8 or 5,
    store = { wide // 16, 1 }, order = "columns", blocks = one_each, pdl = true,
    when = function(p)
      local short, long = p.n, p.m
      if across then short, long = p.m, p.n end
      local tiles = cdiv(long, wide)
      local rounds = cdiv(tiles, p.n_sms)
      return short <= few and 2 * short > few and p.k >= 512 and p.l == 1 and not p.groups
        and rounds <= ROUNDS and tiles >= FILLED * rounds * p.n_sms
    end }
end

local WARPS <const> = { 2, 2 } -- of a block, if a row does not say otherwise
local dots <const> = rows_of(DOTS, { types = F32, sm = 80, majors = TN, order = "serpentine",
  warps = WARPS })
local simt <const> = rows_of(SIMT, { types = F32, sm = 80, lanes = { 8, 4 }, warps = WARPS })
local tcgen05 <const> = rows_of(TCGEN05, { only_sm = TENSOR_MEMORY })
local mma <const> = rows_of(MMA, { sm = 80, warps = WARPS })

M.list = {
  -- f32 on CUDA cores. Few rows or columns want small tiles, and K whole. Small K wants small
  -- tiles: their tails and stores of C overlap. A deeper tile of K wins only where K is long, as
  -- its first one comes later. Slices of K give a multiprocessor enough warps where it has a single
  -- tile. What limits registers or pins reads was measured with at least two rounds of blocks.
  dots{ name = "dots 32x16x32", stages = 6,
    when = function(p) return p.n <= 16 and is_dots(p) end },
  dots{ name = "dots 16x32x32", stages = 6,
    when = function(p) return p.m <= 16 and is_dots(p) end },
  dots{ name = "dots 32x32x32", stages = 6,
    when = function(p) return math.min(p.m, p.n) <= 32 and is_dots(p) end },
  dots{ name = "dots 64x32x32", stages = 5, when = function(p) return is_dots(p) end },
  dots{ name = "dots 64x64x32", warps = { 4, 2 }, stages = 4,
    when = function(p) return p.unsplit and at_most(2, 64, 64)(p) end },
  simt{ name = "simt 256x128x16", majors = NT, warps = { 2, 4 }, stages = 4, min_blocks = 1,
    order = "m4 ~n2 ~m ~n", group = 8, emission = { registers = 208 },
    when = deep(256, 128, 0.95) },
  simt{ name = "simt 128x64x16", majors = NT, stages = 3, min_blocks = 4, order = "m2 ~n m",
    when = fills(1, 128, 64) },
  simt{ name = "simt 128x128x16 turned", majors = TN, stages = 3, min_blocks = 2, order = "n ~m",
    turn = "async", lane_bits = { 4, 16 }, needs = is_resident,
    when = function(p) return p.k > 2048 and fills(4, 128, 128)(p) end },
  simt{ name = "simt 128x128x8 turned", majors = TN, stages = 3, min_blocks = 2, order = "n ~m",
    turn = "async", lane_bits = { 4, 16 }, when = deep(128, 128) },
  simt{ name = "simt 128x128x8 turned, 200 registers", majors = TN, stages = 3, min_blocks = 2,
    order = "n ~m", turn = "async", lane_bits = { 4, 16 }, emission = { registers = 200 },
    needs = is_bare, when = fills(4, 128, 128) },
  simt{ name = "simt 128x128x8 turned, small K", majors = TN, stages = 3, min_blocks = 2,
    order = "n ~m", turn = "async", lane_bits = { 1, 4 }, when = fills(1, 128, 128) },
  simt{ name = "simt 256x128x16 turned", majors = NN, warps = { 2, 4 }, stages = 4, min_blocks = 1,
    order = "n2 ~m n", turn = "async", when = deep(256, 128) },
  simt{ name = "simt 128x128x8 turned A", majors = { TT = true }, stages = 3, min_blocks = 2,
    order = "n2 ~m n", turn = "async", when = deep(128, 128) },
  simt{ name = "simt 128x64x16 turned, pinned", majors = NN, stages = 3, min_blocks = 4,
    order = "n2 m ~n", turn = "registers", emission = { pin = true }, needs = is_bare,
    when = fills(8, 128, 64) },
  simt{ name = "simt 128x64x16 turned", majors = MIXED, stages = 3, min_blocks = 4,
    order = "n2 m ~n", turn = "registers", when = fills(1, 128, 64) },
  simt{ name = "simt 128x64x32 turned, 2 slices", majors = TN, slices = 2, stages = 3,
    min_blocks = 1, order = "n2 ~m n", turn = "async", when = function(p)
      return p.k >= 512 and not at_most(0.5, 128, 64)(p) and at_most(1, 128, 64)(p)
    end },
  simt{ name = "simt 64x64x16", majors = NT, warps = { 1, 2 }, stages = 4, min_blocks = 6,
    order = "m2 ~n m" },
  simt{ name = "simt 64x64x16 turned", majors = { TN = true, NN = true, TT = true },
    warps = { 1, 2 }, stages = 3, min_blocks = 6, order = "n2 m ~n", turn = "registers" },

  -- Hopper's tensor cores. Few rows or columns want many stages, and nothing loaded in vain. Else
  -- the smallest tile of which all are multiplied at one time; else 256x128, and by ping-pong where
  -- K is short, which hides the stores. Blocks that stay for one tile want more stages and an early
  -- launch. By Hilbert's curve what runs at one time on multiprocessors that share a way to the L2
  -- cache is a square, too. Others are taken by name; scripts/bench/configs.lua has more.
  hopper{ name = "hopper 256x64x64, ping-pong, gather", types = HALVES, schedule = "ping-pong",
    stages = 4, registers = { 56, 224 }, store = { 1, 2 }, fetch = 256, order = "groups",
    gathers = true, when = in_groups_of(512) },
  hopper{ name = "hopper 256x64x64, ping-pong", types = HALVES, schedule = "ping-pong", stages = 4,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", when = in_groups_of(64) },
  hopper{ name = "hopper 128x128x64, ping-pong", types = HALVES, majors = TN,
    schedule = "ping-pong", stages = 6, registers = { 40, 232 }, store = { 1, 2 }, order = "groups",
    when = function(p) return p.k <= 1024 and fills(2, 192, 128)(p) and fits_128(p) end },
  hopper{ name = "hopper 192x128x64, ping-pong", types = HALVES, majors = TN,
    schedule = "ping-pong", stages = 4, registers = { 40, 232 }, store = { 1, 2 }, fetch = 256,
    order = "hilbert", blocks = one_each,
    when = function(p) return p.k <= 1024 and fills(2, 192, 128)(p) end },
  in_two{ name = "hopper 64x64x64, 16 rows, K in 2", stages = 12 },
  in_two{ name = "hopper 64x64x64, 32 rows, K in 2", stages = 12 },
  in_two{ name = "hopper 32x64x64, K in 2", stages = 12 },
  in_two{ name = "hopper 64x64x64, K in 2", stages = 12 },
  narrow{ name = "hopper 32x64x64, 16 rows", types = HALVES, majors = TN, stages = 12,
    when = function(p) return p.n <= 16 and at_most(1, 32, 64)(p) and is_narrow(p) end },
  narrow{ name = "hopper 64x64x64, 16 rows", types = HALVES, majors = TN, stages = 12,
    when = function(p) return p.n <= 16 and is_narrow(p) end },
  narrow{ name = "hopper 32x64x64, 32 rows", types = HALVES, majors = TN, stages = 12,
    when = function(p) return p.n <= 32 and at_most(1, 32, 64)(p) and is_narrow(p) end },
  narrow{ name = "hopper 64x64x64, 32 rows", types = HALVES, majors = TN, stages = 12,
    when = function(p) return p.n <= 32 and is_narrow(p) end },
  narrow{ name = "hopper 16x64x64", types = HALVES, majors = TN, stages = 16,
    when = function(p) return p.m <= 16 and is_narrow(p) end },
  narrow{ name = "hopper 32x64x64, 12 stages", types = HALVES, majors = TN, stages = 12,
    when = function(p) return is_narrow(p) or p.unsplit and at_most(1, 32, 64)(p) end },
  in_two{ name = "hopper 64x128x64, K in 2", groups = 2, stages = 7 },
  in_two{ name = "hopper 128x64x64, K in 2", stages = 7 },
  even(80, 64), even(96, 64), even(112, 64), even(80, 64, true), even(96, 64, true),
  even(112, 64, true), even(80, 128), even(96, 128), even(112, 128), even(80, 128, true),
  even(96, 128, true), even(112, 128, true),
  narrow{ name = "hopper 64x64x64", types = HALVES, stages = 6, min_blocks = 2,
    when = at_once(2, 64, 64, 64) },
  hopper{ name = "hopper 128x128x64", types = HALVES, stages = 6, store = { 1, 2 },
    order = "groups", pdl = true, when = at_once(1, 128, 128) },
  hopper{ name = "hopper 192x128x64", types = HALVES, stages = 4, registers = { 40, 232 },
    store = { 1, 2 }, order = "groups", pdl = true, when = fits_192 },
  hopper{ name = "hopper 128x256x64, early", types = HALVES, stages = 4, registers = { 40, 232 },
    store = { 1, 2 }, order = "groups", pdl = true,
    when = function(p) return is_wide(p) and p.m <= 128 and fills(0.9, 128, 256)(p) end },
  hopper{ name = "hopper 128x256x64", types = HALVES, stages = 4, registers = { 40, 232 },
    store = { 1, 2 }, order = "groups", when = function(p) return is_wide(p) and p.m <= 128 end },
  hopper{ name = "hopper 256x128x64, 4 stages", types = HALVES, stages = 4, registers = { 40, 232 },
    store = { 1, 2 }, order = "groups", pdl = true, when = at_once(1, 256, 128) },
  hopper{ name = "hopper 256x128x64", types = HALVES, behind = true, stages = 3, fetch = 256,
    registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert", when = is_wide },
  hopper{ name = "hopper 256x128x64, C in boxes", types = HALVES, behind = true, stages = 3,
    fetch = 256, registers = { 40, 232 }, store = { 2, 2 }, order = "hilbert", boxes = true,
    when = is_wide },
  hopper{ name = "hopper 128x128x64, gather", types = HALVES, stages = 6, store = { 1, 2 },
    order = "groups", gathers = true,
    when = function(p) return is_wide(p) and (p.m <= 128 or at_most(1, 128, 128)(p)) end },
  hopper{ name = "hopper 256x128x64, gather", types = HALVES, stages = 4, registers = { 56, 224 },
    store = { 1, 2 }, order = "groups", gathers = true, when = is_wide },
  narrow{ name = "hopper 32x64x64", types = HALVES, majors = TN_TT, stages = 8, min_blocks = 2,
    when = never },
  narrow{ name = "hopper 128x64x64", types = HALVES, stages = 4, min_blocks = 2, when = never },
  hopper{ name = "hopper 64x128x64", types = HALVES, stages = 3, store = { 1, 1 },
    order = "columns", blocks = two_each, min_blocks = 2, pdl = true, when = never },
  hopper{ name = "hopper 256x128x64, stream-K", types = HALVES, majors = TN, stream_k = true,
    stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "groups", when = never },
  narrow{ name = "hopper 64x64x32", types = TF32, majors = TN_TT, stages = 6, min_blocks = 2,
    when = at_once(2, 64, 64) },
  narrow{ name = "hopper 64x64x32, across", types = TF32, majors = NN, across = true, stages = 6,
    min_blocks = 2, when = at_once(2, 64, 64) },
  hopper{ name = "hopper 128x128x32", types = TF32, majors = TN_TT, stages = 6,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 128, 128) },
  hopper{ name = "hopper 128x128x32, across", types = TF32, majors = NN, across = true, stages = 6,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 128, 128) },
  hopper{ name = "hopper 256x128x32", types = TF32, majors = TN_TT, stages = 3,
    registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert", when = fills(0.5, 256, 128) },
  hopper{ name = "hopper 256x128x32, across", types = TF32, majors = NN, across = true, stages = 3,
    registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert", when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 64x128x32", types = TF32, majors = NT, stages = 8,
    registers = { 104, 200 }, store = { 1, 2 }, order = "columns", blocks = one_each, pdl = true,
    when = at_once(2, 64, 128) },
  hopper{ name = "hopper 256x128x32, transposed first", types = TF32, majors = NT,
    transposes = true, stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = function(p) return p.n >= 2048 and fills(0.9, 256, 128)(p) end },
  hopper{ name = "hopper 128x256x32", types = TF32, majors = NT_NN, stages = 4,
    registers = { 104, 200 }, store = { 1, 2 }, order = "hilbert", when = fills(0.5, 128, 256) },
  narrow{ name = "hopper 64x64x128", types = ALL_BYTES, majors = TN, stages = 6, min_blocks = 2,
    when = at_once(2, 64, 64) },
  hopper{ name = "hopper 128x128x128", types = ALL_BYTES, majors = TN_TT, stages = 6,
    registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 128, 128) },
  hopper{ name = "hopper 128x128x128, across", types = ALL_BYTES, majors = NN, across = true,
    stages = 6, registers = { 40, 232 }, store = { 1, 2 }, order = "groups", pdl = true,
    when = at_once(1, 128, 128) },
  hopper{ name = "hopper 128x128x128, ping-pong, early", types = F8, majors = TN,
    schedule = "ping-pong", stages = 5, registers = { 40, 232 }, store = { 1, 2 },
    order = "hilbert", pdl = true,
    when = function(p) return p.k <= 2048 and fills(1, 128, 128)(p) end },
  hopper{ name = "hopper 128x128x128, ping-pong", types = ALL_BYTES, majors = TN,
    schedule = "ping-pong", stages = 5, registers = { 40, 232 }, store = { 1, 2 },
    order = "hilbert", when = function(p)
      return BYTES[p.dtype.name] and fills(1, 128, 128)(p) and not fills(8, 256, 128)(p)
    end },
  hopper{ name = "hopper 192x128x128, ping-pong", types = BYTES, majors = TN,
    schedule = "ping-pong", stages = 4, registers = { 40, 232 }, store = { 1, 2 },
    order = "hilbert", blocks = one_each, when = fills(8, 256, 128) },
  hopper{ name = "hopper 256x128x128, in passes", types = F8, majors = TN, stages = 3,
    registers = { 40, 232 }, store = { 2, 2 }, order = "hilbert", behind = true,
    when = fills(0.5, 256, 128) },
  hopper{ name = "hopper 256x128x128", types = ALL_BYTES, majors = TN_TT, stages = 3,
    registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert", when = fills(0.5, 256, 128) },
  hopper{ name = "hopper 256x128x128, across", types = ALL_BYTES, majors = NN, across = true,
    stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 256x128x128, transposed first", types = ALL_BYTES, majors = NT,
    transposes = true, stages = 3, registers = { 40, 232 }, store = { 4, 1 }, order = "hilbert",
    when = function(p) return p.n >= 1024 and fills(0.5, 256, 128)(p) end },
  hopper{ name = "hopper 128x256x128", types = ALL_BYTES, majors = NT_NN, stages = 4,
    registers = { 104, 200 }, store = { 1, 2 }, order = "hilbert", when = fills(0.5, 128, 256) },
  hopper{ name = "hopper 128x256x128, scaled", types = F8, majors = TN, stages = 3,
    registers = { 40, 232 }, store = { 2, 2 }, order = "hilbert", scaled = true, parts = 4,
    when = function(p)
      return scaling.has_many(p) and is_wide(p) and fills(1, 128, 256)(p)
    end },
  hopper{ name = "hopper 256x128x128, scaled", types = F8, majors = TN, stages = 3,
    registers = { 40, 232 }, store = { 2, 2 }, order = "hilbert", scaled = true, parts = 4,
    when = function(p) return is_deep(p) and is_wide(p) and fills(1, 256, 128)(p) end },
  hopper{ name = "hopper 128x128x128, scaled", types = F8, majors = TN, stages = 5,
    registers = { 56, 224 }, store = { 1, 2 }, order = "groups", scaled = true,
    when = function(p) return is_deep(p) and is_wide(p) and fills(0.5, 128, 128)(p) end },
  hopper{ name = "hopper 64x64x128, scaled", types = F8, majors = TN, groups = 1, stages = 5,
    store = { 1, 1 }, order = "columns", blocks = two_each, min_blocks = 2, scaled = true,
    when = function(p) return is_deep(p) and is_wide(p) end },
  narrow{ name = "hopper 128x64x32", types = TF32, majors = TN, stages = 4, min_blocks = 2,
    when = never },
  narrow{ name = "hopper 128x64x128", types = ALL_BYTES, majors = TN, stages = 4, min_blocks = 2,
    when = never },

  -- Tensor memory. No hardware has run these: the model predicts what is bound by loads from L2,
  -- of which pairs of blocks need fewer.
  tcgen05{ name = "tcgen05 256x128x64, pairs", types = HALVES, stages = 6, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 256, 128)(p) end },
  tcgen05{ name = "tcgen05 128x128x64", types = HALVES, stages = 6, when = is_wide },
  tcgen05{ name = "tcgen05 256x128x128, pairs", types = F8, majors = TN, stages = 6, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 256, 128)(p) end },
  tcgen05{ name = "tcgen05 128x128x128", types = F8, majors = TN, stages = 6, when = is_wide },
  tcgen05{ name = "tcgen05 256x128x32, pairs", types = TF32, majors = TN, stages = 6, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 256, 128)(p) end },
  tcgen05{ name = "tcgen05 128x128x32", types = TF32, majors = TN, stages = 6, when = is_wide },

  -- With scales of 16 or 32 of K. Nothing else multiplies floats of 4 bits, on the CPU engine, too.
  tcgen05{ name = "tcgen05 128x128x128, MXFP8, pairs", types = F8, majors = TN, stages = 5,
    scale_warps = 4, cluster = 2,
    when = function(p) return is_wide(p) and fills(1, 128, 256)(p) end },
  tcgen05{ name = "tcgen05 128x128x128, MXFP8", types = F8, majors = TN, stages = 4,
    scale_warps = 4, when = is_wide },
  tcgen05{ name = "tcgen05 128x128x256, FP4, pairs", types = F4, majors = TN, stages = 4,
    scale_warps = 4, cluster = 2, when = function(p) return fills(1, 128, 256)(p) end },
  tcgen05{ name = "tcgen05 128x128x256, FP4", types = F4, majors = TN, stages = 4,
    scale_warps = 4 },
  { name = "cpu tcgen05 128x128x256, FP4", device = "cpu", template = TCGEN05, types = F4,
    majors = TN, tile = { 128, 128, 256 }, stages = 2, scale_warps = 4 },

  -- Tensor cores. Small problems want small tiles, so that all multiprocessors have some.
  mma{ name = "mma 128x256x64", types = HALVES, warps = { 2, 4 }, stages = 4, min_blocks = 1,
    group = 8, when = function(p) return not p.nested and deep(128, 256)(p) end },
  mma{ name = "mma 128x128x64", types = HALVES, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  mma{ name = "mma 128x64x64", types = HALVES, stages = 4, min_blocks = 2,
    when = fills(1, 128, 64) },
  mma{ name = "mma 64x64x64", types = HALVES, stages = 4, min_blocks = 3 },
  mma{ name = "mma 128x256x64, f16 sums", types = { f16 = true }, warps = { 2, 4 }, stages = 4,
    min_blocks = 1, group = 8, sums = "f16", when = never },
  -- Where a block has less memory than Hopper's; taken by results.
  mma{ name = "mma 128x256x64, 3 stages", types = HALVES, warps = { 2, 4 }, stages = 3,
    min_blocks = 1, group = 8, when = never },
  mma{ name = "mma 128x256x32, 16 bits", types = HALVES, warps = { 2, 4 }, stages = 4,
    min_blocks = 1, group = 8, when = never },
  mma{ name = "mma 128x128x32, 16 bits", types = HALVES, stages = 3, min_blocks = 2, when = never },
  mma{ name = "mma 128x256x32", types = TF32, warps = { 2, 4 }, stages = 4, min_blocks = 1,
    group = 8, when = deep(128, 256) },
  mma{ name = "mma 128x128x32", types = TF32, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  mma{ name = "mma 64x64x32", types = TF32, stages = 4, min_blocks = 3 },
  mma{ name = "mma 128x256x32, 3 stages", types = TF32, warps = { 2, 4 }, stages = 3,
    min_blocks = 1, group = 8, when = never },
  mma{ name = "mma 128x128x16, tf32", types = TF32, stages = 3, min_blocks = 2, when = never },
  mma{ name = "mma 128x256x128", types = BYTES, warps = { 2, 4 }, stages = 4, min_blocks = 1,
    group = 8, when = deep(128, 256) },
  mma{ name = "mma 128x128x128", types = BYTES, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  mma{ name = "mma 64x64x128", types = BYTES, stages = 4, min_blocks = 3 },

  -- Sums of blocks of K that have scales take as many registers as those of all K. On sm_90
  -- mma.sync has no f8: the compiler casts to f16 first, which takes registers, too.
  mma{ name = "mma 128x128x128, 8 warps", types = F8, only_sm = 89, warps = { 4, 2 }, stages = 3,
    min_blocks = 1, scaled = true,
    when = function(p) return is_deep(p) and fills(1, 128, 128)(p) end },
  mma{ name = "mma 128x128x128, f8", types = F8, only_sm = 89, stages = 3, min_blocks = 2,
    when = fills(1, 128, 128) },
  mma{ name = "mma 64x64x128, f8", types = F8, sm = 89, stages = 4, min_blocks = 2, scaled = true },

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

return M
