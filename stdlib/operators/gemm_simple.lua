-- gemm_simple.lua: the kernel of matmul for all types, targets and sizes: tiles of A and B in a
-- ring of stages in shared memory, filled by asynchronous copies where the device has them,
-- products by universal FMAs. Fields of its configurations, beside those that matmul.lua lists:
--   threads  {m, n}: a thread of the block has (bM / m) x (bN / n) elements of C, in runs of 4
--   stages   tiles of K in shared memory
--   order    of the multiply-adds, as gemm takes it
local raster = require "cuttle.gemm_raster"
local epilogue = require "cuttle.gemm_epilogue"
local nested = require "cuttle.gemm_nested"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local M = { takes_nested = true, scales_blocks = true }

local RUN <const> = 4 -- adjacent rows and columns of a thread
local VECTOR_BITS <const> = 128

--- Why no kernel of this template computes the problem; nil: it does.
function M.trouble(_, p)
  if p.dtype.bits < 8 then
    return ("no copy moves single elements of %d bits"):format(p.dtype.bits)
  end
end

function M.n_threads(config) return config.threads[1] * config.threads[2] end

-- Copies of (bMN, bK) by n threads, and how the tile lies in shared memory: k by k, rows adjacent.
-- What is contiguous along K is turned round on the way, element by element, into padded columns.
local function plan_operand(dtype, major, rows, depth, n)
  if major == "k" then
    local one = atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype)
    local across = math.min(depth, n)
    return tiled_copy(one, row_major{n // across, across}), rows + VECTOR_BITS // dtype.bits
  end
  local vec = math.min(VECTOR_BITS // dtype.bits, rows * depth // n) -- all threads have a share
  local along = math.min(rows // vec, n)
  local wide = atom(("UniversalCopy<u%d>"):format(vec * dtype.bits), dtype)
  return tiled_copy(wide, layout{along, n // along}, layout{vec, 1}), rows
end

-- A thread's rows lie in runs of RUN, the runs of all threads side by side.
local function in_runs(n_threads, extent)
  local run = extent // n_threads % RUN == 0 and RUN or 1
  return layout({n_threads, run}, {run, 1})
end

function M.make(variant)
  local bM, bN, bK = table.unpack(variant.tile)
  local tM, tN = table.unpack(variant.threads)
  local n_stages, dtype, sum = variant.stages, variant.dtype, variant.sum
  local mma = tiled_mma(("UniversalFMA<%s>"):format(sum.name), layout{tM, tN, 1},
    {in_runs(tM, bM), in_runs(tN, bN)})
  local copy_A, ldA = plan_operand(dtype, variant.a_major, bM, bK, tM * tN)
  local copy_B, ldB = plan_operand(dtype, variant.b_major, bN, bK, tM * tN)
  local in_A = layout({bM, bK, n_stages}, {1, ldA, ldA * bK})
  local in_B = layout({bN, bK, n_stages}, {1, ldB, ldB * bK})
  local options = {order = variant.order}
  local per_block = scaling.block_of(variant) // bK -- tiles in a block of K
  reduce.plan(variant, mma, tM * tN)
  scaling.plan(variant, mma)

  return kernel(variant.name, function(A, B, C, alpha, beta, ...)
    local at = raster.tile(variant, A, B, C, {...})
    if not at.is_there then return end
    local sA, sB = shared(dtype, in_A), shared(dtype, in_B)
    local gA = nested.tiles(variant, "A", at.A, {bM, bK}, at.m)      -- (bM, bK, k)
    local gB = nested.tiles(variant, "B", at.B, {bN, bK}, at.n)      -- (bN, bK, k)
    local places = tile(at.places, {bM, bN}, {at.m, at.n})

    local thr_A, thr_B = copy_A:get_slice(threadIdx.x), copy_B:get_slice(threadIdx.x)
    local tAgA, tAsA = thr_A:partition_S(gA), thr_A:partition_D(sA)  -- (V, M, K, k), (.., stage)
    local tBgB, tBsB = thr_B:partition_S(gB), thr_B:partition_D(sB)
    local thr = mma:get_slice(threadIdx.x)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)      -- (1, M, K, stage)
    local tCgC = nested.part_of_C(variant, thr, at.C, {at.m, at.n})
    local tCrC = fragment(sum, mma:partition_shape_C{bM, bN})        -- (1, M, N)
    clear(tCrC)
    local promoter = scaling.begin(variant, at.scales, tCrC, at.l, function()
      return thr:partition_C(places)
    end)
    local part = promoter and promoter:part() or tCrC
    if promoter then clear(part) end

    local n_tiles = size(tAgA, 3)
    local bring_A = nested.bringer(variant, "A", at.A, tAgA)
    local bring_B = nested.bringer(variant, "B", at.B, tBgB)
    local function fetch(k, stage)
      if k < n_tiles then
        local sA_k, sB_k = tAsA(_, _, _, stage), tBsB(_, _, _, stage)
        if bring_A then bring_A(k, sA_k) else copy(tAgA(_, _, _, k), sA_k) end
        if bring_B then bring_B(k, sB_k) else copy(tBgB(_, _, _, k), sB_k) end
      end
      cp_async_commit()
    end
    for stage = 0, n_stages - 2 do fetch(stage, stage) end
    for k in range(n_tiles) do
      cp_async_wait(n_stages - 2)
      sync_threads() -- the tile is there, and all have used the one that is replaced now
      fetch(k + n_stages - 1, (k + n_stages - 1) % n_stages)
      local stage = k % n_stages
      gemm(tCsA(0, _, _, stage), tCsB(0, _, _, stage), part(0, _, _), options)
      if promoter and ((k + 1) % per_block == 0 or k == n_tiles - 1) then
        promoter:add(tCrC, promoter:load(k // per_block))
        clear(part)
      end
    end
    epilogue.begin(variant, alpha, beta, at):store(tCrC, tCgC, thr:partition_C(places))
  end, {emission = variant.emission})
end

return M
