-- gemm_dots.lua: the kernel of matmul for f32 with few rows or columns, as a step of decoding has:
-- operands that are contiguous along K stay so in shared memory, and a thread reads four numbers of
-- K of its rows and columns at a time. Small tiles give all multiprocessors some, with K whole, so
-- that none waits for another's sums. Fields of its configurations, beside those that matmul.lua
-- lists:
--   warps    {m, n} of the block, each of 8 x 4 lanes: a thread has every (8 m)-th row and every
--            (4 n)-th column, so that a warp reads shared memory without conflicts
--   stages   tiles of K in shared memory
--   order    of the multiply-adds of one k, as gemm takes it
local raster = require "cuttle.gemm_raster"
local epilogue = require "cuttle.gemm_epilogue"
local reduce = require "cuttle.gemm_reduce"
local tma = require "cuttle.tma_rules"
local M = {}

local RUN <const> = 4 -- numbers of K in 16 bytes
local FEW <const>, SIDE <const>, LEAST_K <const> = 64, 32, 512
local MODES <const> = { "rows", "K", "the batches" }

function M.n_threads(config) return 32 * config.warps[1] * config.warps[2] end

-- Elements from one row to the next in shared memory: eight rows' 16 bytes lie in all banks.
local function pitch(config) return config.tile[3] + RUN end

--- The rings. No padding follows their last rows.
function M.shared_bytes(config, dtype)
  local n_rows = config.stages * (config.tile[1] + config.tile[2])
  return (n_rows * pitch(config) - 2 * RUN) * dtype.bits // 8
end

--- Why no kernel of this template computes the problem; nil: it does.
function M.trouble(_, p)
  if p.groups then return "copies of 16 bytes would reach into other groups" end
  if p.a_major ~= "k" or p.b_major ~= "k" then return "an operand is not contiguous along K" end
  if p.k % RUN ~= 0 then return ("K is not a multiple of %d"):format(RUN) end
  return tma.trouble(p.A, "A", MODES, 2, 2) or tma.trouble(p.B, "B", MODES, 2, 2)
end

--- Is the template for it on a GPU of that capability and so many multiprocessors? It has few rows
--- or columns. If K may be split, it is a single product and most multiprocessors have a tile: that
--- was measured.
function M.is_few(p, sm, n_sms)
  local few, many = math.min(p.m, p.n), math.max(p.m, p.n)
  if p.dtype ~= f32 or sm < 80 or few > FEW or p.k < LEAST_K or M.trouble(nil, p) then
    return false
  end
  local filled = few <= SIDE and 0.75 or 0.9
  return p.unsplit or p.l == 1 and cdiv(many, SIDE) >= filled * n_sms
end

-- One operand on its way from its tiles (rows,bK,k) to the ring (rows,bK,stage).
local function make_loader(variant, tiles, ring)
  local n, across = M.n_threads(variant), variant.tile[3] // RUN
  local wide = atom("UniversalCopy<u128>", variant.dtype)
  local thr = tiled_copy(wide, row_major{n // across, across}, row_major{1, RUN})
    :get_slice(threadIdx.x)
  return { from = thr:partition_S(tiles), to = thr:partition_D(ring) }
end

-- A thread's four numbers of K of each of its rows, from their tile (rows,bK), row by row.
local function read(rows, quad, held)
  for i = 0, size(rows, 0) - 1 do copy(tile(rows(i, _), RUN, quad), held(i, _)) end
end

function M.make(variant)
  local bM, bN, bK = table.unpack(variant.tile)
  local wM, wN = table.unpack(variant.warps)
  local n_stages, dtype, sum = variant.stages, variant.dtype, variant.sum
  local ld = pitch(variant)
  local mma = tiled_mma(("UniversalFMA<%s>"):format(sum.name),
    layout({{8, wM}, {4, wN}, 1}, {{1, 32}, {8, 32 * wM}, 0}))
  local in_A = layout({bM, bK, n_stages}, {ld, 1, ld * bM})
  local in_B = layout({bN, bK, n_stages}, {ld, 1, ld * bN})
  local options = {order = variant.order}
  reduce.plan(variant, mma, M.n_threads(variant))

  return kernel(variant.name, function(A, B, C, alpha, beta, ...)
    local at = raster.tile(variant, A, B, C, {...})
    local sA, sB = shared(dtype, in_A), shared(dtype, in_B)
    local gC = tile(at.C, {bM, bN}, {at.m, at.n})                    -- (bM, bN)
    local load_A = make_loader(variant, tile(at.A, {bM, bK}, {at.m, _}), sA)
    local load_B = make_loader(variant, tile(at.B, {bN, bK}, {at.n, _}), sB)
    local thr = mma:get_slice(threadIdx.x)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)      -- (1, M, K, stage)
    local tCgC = thr:partition_C(gC)                                 -- (1, M, N)
    local tCrA = fragment(sum, row_major{size(tCsA, 1), RUN})
    local tCrB = fragment(sum, row_major{size(tCsB, 1), RUN})
    local tCrC = fragment(sum, shape(tCgC))
    clear(tCrC)

    local n_tiles = size(load_A.from, 3)
    local function fetch(k, stage)
      if k < n_tiles then
        copy(load_A.from(_, _, _, k), load_A.to(_, _, _, stage))
        copy(load_B.from(_, _, _, k), load_B.to(_, _, _, stage))
      end
      cp_async_commit()
    end
    for stage = 0, n_stages - 2 do fetch(stage, stage) end
    local stage, free = 0, n_stages - 1
    for k in range(n_tiles) do
      cp_async_wait(n_stages - 2)
      sync_threads() -- the tile is there, and all have used the one that is replaced now
      fetch(k + n_stages - 1, free)
      for quad = 0, bK // RUN - 1 do
        read(tCsA(0, _, _, stage), quad, tCrA)
        read(tCsB(0, _, _, stage), quad, tCrB)
        for i = 0, RUN - 1 do gemm(tCrA(_, i), tCrB(_, i), tCrC(0, _, _), options) end
      end
      free = stage
      stage = where(stage == n_stages - 1, 0, stage + 1)
    end
    epilogue.begin(variant, alpha, beta, at):store(tCrC, tCgC,
      thr:partition_C(tile(at.places, {bM, bN}, {at.m, at.n})))
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
