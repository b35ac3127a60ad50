-- gemm_mma.lua: the kernel of matmul for tensor cores by the instructions of sm_80: mma.sync, fed
-- by ldmatrix from a ring of stages in shared memory, which cp.async fills. The fragments of one
-- step along K are read while those of the step before are multiplied, across tiles too. An
-- instruction gives a thread adjacent columns of its product, so it computes C transposed, whose
-- columns are the contiguous M: its A is matmul's B, its B matmul's A. Fields of its
-- configurations, beside those that matmul.lua lists (bK has 64 bytes at least, two steps):
--   stages   tiles of K in the ring
--   warps    {m, n} of the block; a warp has bM / m rows and bN / n columns
--   sums     "f16": sums of f16 products are kept in f16, not in f32
--   min_blocks  of a multiprocessor, which limits the registers of a thread
local bits_for = require "cuttle.integers".bits_for
local raster = require "cuttle.gemm_raster"
local epilogue = require "cuttle.gemm_epilogue"
local nested = require "cuttle.gemm_nested"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local M = { takes_nested = true }

local WIDE_BITS <const> = 128 -- of a copy, and of a row of ldmatrix's matrices
local ROW_BITS <const> = 1024 -- all banks once
local PAD <const> = 8 -- elements of 32 bits behind each k of what no ldmatrix turns
local ATOM_M <const>, ATOM_N <const> = 16, 8

local atoms <const> = {
  f16 = "SM80_16x8x16_F32F16F16F32_TN", bf16 = "SM80_16x8x16_F32BF16BF16F32_TN",
  tf32 = "SM80_16x8x8_F32TF32TF32F32_TN", i8 = "SM80_16x8x32_S32S8S8S32_TN",
  u8 = "SM80_16x8x32_S32U8U8S32_TN", f8e4m3 = "SM89_16x8x32_F32E4M3E4M3F32_TN",
  f8e5m2 = "SM89_16x8x32_F32E5M2E5M2F32_TN", f16_f16 = "SM80_16x8x16_F16F16F16F16_TN",
}

function M.n_threads(config) return 32 * config.warps[1] * config.warps[2] end

-- Of a block's ring; `majors` as "NT".
function M.shared_bytes(config, dtype, majors)
  local bM, bN, bK = table.unpack(config.tile)
  if dtype.bits == 32 then
    if majors:sub(1, 1) == "N" then bM = bM + PAD end
    if majors:sub(2, 2) == "T" then bN = bN + PAD end
  end
  return (bM + bN) * bK * dtype.bits // 8 * config.stages
end

-- Bytes that are contiguous along their rows come in pairs, by the ldmatrix that transposes 16
-- bits, so a lane has adjacent rows of the tile.
local function is_paired(variant, major) return major == "mn" and variant.dtype.bits == 8 end

--- Why no kernel of this template computes the problem; nil: it does.
function M.trouble(_, p)
  if p.glu and is_paired(p, p.a_major) then
    return "its threads have rows of bytes in pairs, and no two columns side by side for glu"
  end
end

-- The instruction over the warps, which are counted along M first. 16 rows of either operand are
-- what one ldmatrix brings. Of an operand in pairs they are numbered so that a lane's are its own.
local function make_mma(variant)
  local name = variant.dtype.name
  local atom = atom(atoms[variant.sums and name .. "_" .. variant.sums or name])
  local wM, wN = table.unpack(variant.warps)
  local rows, columns = ATOM_M * wN, 2 * ATOM_N * wM
  if is_paired(variant, variant.b_major) then rows = layout({8, 2, wN}, {2, 1, ATOM_M}) end
  if is_paired(variant, variant.a_major) then columns = layout({8, wM, 2}, {2, 2 * ATOM_N, 1}) end
  return tiled_mma(atom, layout({wN, wM, 1}, {wM, 1, 0}), {rows, columns}), atom.dtypes.d
end

-- {====== Operands on their way ======

-- Lines of 128 bytes at most with places of 16 bytes exchanged.
local function exchanged(dtype, line, l)
  local vec = WIDE_BITS // dtype.bits
  if line == vec then return l end
  return composition(swizzle(bits_for(line // vec), bits_for(vec), 3), l)
end

-- A ring of tiles of which ldmatrix reads 8 rows, and a warp writes one, without conflicts: what
-- is contiguous lies in lines.
local function swizzled(dtype, line, extent, major)
  local block = major == "k" and row_major{8, line} or layout{line, 8}
  return tile_to_shape(exchanged(dtype, line, block), extent)
end

-- The same for bytes in pairs. A lane t of the instruction's A and B has k = 4t to 4t + 3, two by
-- each of two of ldmatrix's matrices: one has k = 0, 1, 4, 5, 8, 9, 12 and 13, in adjacent lines.
local function paired(dtype, line, extent)
  local rows, depth, stages = table.unpack(extent)
  return exchanged(dtype, line, layout({{line, rows // line}, {2, 2, 4, depth // 16}, stages},
    {{1, line * depth}, {line, 8 * line, 2 * line, 16 * line}, rows * depth}))
end

-- How an operand (rows, bK) of the instruction's A or B comes in: a tiled copy from global memory,
-- the ring's layout, and how fragments are read: by a tiled copy of ldmatrix, in pairs or, where
-- there is none for the type, element by element.
local function plan_operand(variant, mma, name, major, rows)
  local n, bK, dtype = M.n_threads(variant), variant.tile[3], variant.dtype
  local vec = WIDE_BITS // dtype.bits
  local one = atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype)
  local tiled_like = name == "A" and tiled_copy_A or tiled_copy_B
  local ring = {rows, bK, variant.stages}
  if major == "k" then
    local across = bK // vec
    local line = math.min(bK, ROW_BITS // dtype.bits)
    return { tiled = tiled_copy(one, row_major{n // across, across}, row_major{1, vec}),
             ring = swizzled(dtype, line, ring, "k"),
             read = tiled_like(atom("SM75_U32x4_LDSM_N", dtype), mma) }
  end
  local line = math.min(rows, ROW_BITS // dtype.bits)
  local along = math.min(rows // vec, n)
  local plan = { tiled = tiled_copy(one, layout{along, n // along}, layout{vec, 1}) }
  if dtype.bits == 16 then
    plan.ring = swizzled(dtype, line, ring, "mn")
    plan.read = tiled_like(atom("SM75_U16x8_LDSM_T", dtype), mma)
  elseif is_paired(variant, major) then
    plan.ring, plan.pairs = paired(dtype, line, ring), name
  else -- the four k that lanes read at once lie 8 banks apart
    local ld = rows + PAD
    plan.ring = layout(ring, {1, ld, ld * bK})
  end
  return plan
end

-- A ring's bytes, whole periods of the swizzle, which counts from the start of memory.
local function bytes_of(plan, dtype)
  return cdiv(cosize(plan.ring) * dtype.bits, 8 * ROW_BITS) * ROW_BITS
end

-- What a lane gives ldmatrix of a ring of bytes: (8 pairs, MN, K, stage), of 32 k that of its row.
local function pairs_of(plan, variant, ring)
  local wM, wN = table.unpack(variant.warps)
  local warp, lane = threadIdx.x // 32, threadIdx.x % 32
  local n = plan.pairs == "A" and wN or wM
  local mine = plan.pairs == "A" and warp // wM or warp % wM
  local k = lane % 2 + lane // 8 % 2 * 2 + lane // 2 % 4 * 4 + lane // 16 * 16
  local steps = tile(recast(ring, u16), {8 * n, 32}, {_, _})  -- (8n, 32, MN, K, stage)
  return tile(steps, {8}, {mine})(_, k, _, _, _)
end

-- Of four pairs of bytes the first ones, or the second.
local function bytes_of_pairs(x, y, second)
  return byte_perm(x, y, second and 0x7531 or 0x6420)
end

-- One operand's parts of a thread: of its tiles (rows,bK,k), of the ring (rows,bK,stage), and its
-- fragments (V,MN,K) of a tile.
local function make_loader(variant, plan, mma_part, fragments, tiles, ring)
  local thr = plan.tiled:get_slice(threadIdx.x)
  local loader = { from = thr:partition_S(tiles), to = thr:partition_D(ring),
                   fragments = fragments }
  if plan.pairs then
    loader.reads, loader.pairs = pairs_of(plan, variant, ring), plan.pairs
    loader.held = fragment(u16, shape(loader.reads(_, _, 0, 0)))
    loader.words = fragments
  elseif plan.read then
    local reader = plan.read:get_slice(threadIdx.x)
    loader.reads, loader.read = reader:partition_S(ring), plan.read
    loader.words = reader:retile_D(fragments)
  else
    loader.reads, loader.words = mma_part, fragments
  end
  return loader
end

local function fetch(loader, k, stage)
  if loader.bring then return loader.bring(k, loader.to(_, _, _, stage)) end
  copy(loader.from(_, _, _, k), loader.to(_, _, _, stage))
end

-- The words of the instruction's operand: A's rows g and g + 8 before k + 16, B's k + 16 before the
-- next 8 columns.
local function part_pairs(loader, fragments)
  local held, n = recast(loader.held, u32), size(loader.held, 1)
  local words = fragment(u32, {4, n})
  for i = 0, n - 1 do
    for j = 0, 3 do
      local row, k = j % 2, j // 2
      if loader.pairs == "B" then row, k = k, row end
      words[{j, i}] = bytes_of_pairs(held[{2 * k, i}], held[{2 * k + 1, i}], row == 1)
    end
  end
  copy(recast(words, fragments.dtype), fragments)
end

local function read(loader, kb, stage)
  if loader.pairs then
    copy(atom("SM75_U16x8_LDSM_T", u16), loader.reads(_, _, kb, stage), loader.held)
    return part_pairs(loader, loader.words(_, _, kb))
  end
  local from, to = loader.reads(_, _, kb, stage), loader.words(_, _, kb)
  if loader.read then copy(loader.read, from, to) else copy(from, to) end
end

-- {====== The kernel ======

function M.make(variant)
  local bM, bN, bK = table.unpack(variant.tile)
  local n_stages, dtype = variant.stages, variant.dtype
  local mma, sum = make_mma(variant)
  local plan_A = plan_operand(variant, mma, "A", variant.b_major, bN)
  local plan_B = plan_operand(variant, mma, "B", variant.a_major, bM)
  local bytes_A, bytes_B = bytes_of(plan_A, dtype), bytes_of(plan_B, dtype)
  local stored = epilogue.plan_staged(variant, M.n_threads(variant), ATOM_M * variant.warps[2],
    bytes_A + bytes_B)
  local n_blocks = bK // mma.atom.shape[3]
  reduce.plan(variant, mma, M.n_threads(variant), true)
  scaling.plan(variant, mma, true)

  return kernel(variant.name, function(A, B, C, alpha, beta, ...)
    local at = raster.tile(variant, A, B, C, {...})
    if not at.is_there then return end
    local memory = shared(u8, stored.bytes)
    local sA = view(recast(memory, dtype), plan_A.ring)
    local sB = view(recast(tile(memory, {ROW_BITS}, {bytes_A // ROW_BITS}), dtype), plan_B.ring)
    local gA = nested.tiles(variant, "B", at.B, {bN, bK}, at.n)      -- (bN, bK, k)
    local gB = nested.tiles(variant, "A", at.A, {bM, bK}, at.m)      -- (bM, bK, k)

    local thr = mma:get_slice(threadIdx.x)
    local tCrA = thr:partition_fragment_A(sA(_, _, 0))               -- (V, N, K)
    local tCrB = thr:partition_fragment_B(sB(_, _, 0))               -- (V, M, K)
    local tCrC = fragment(sum, mma:partition_shape_C{bN, bM})        -- (V, N, M)
    local load_A = make_loader(variant, plan_A, thr:partition_A(sA), tCrA, gA, sA)
    local load_B = make_loader(variant, plan_B, thr:partition_B(sB), tCrB, gB, sB)
    load_A.bring = nested.bringer(variant, "B", at.B, load_A.from)
    load_B.bring = nested.bringer(variant, "A", at.A, load_B.from)
    clear(tCrC)
    local promoter = scaling.begin(variant, at.scales, tCrC, at.l, function()
      return thr:partition_C(select(tile(at.places, {bM, bN}, {at.m, at.n}), 1, 0))
    end)
    local part = promoter and promoter:part() or tCrC

    local last = size(load_A.from, 3) - 1
    if variant.grouped == "k" then last = max(last, 0) end -- of an empty group zeros
    for s = 0, n_stages - 2 do
      fetch(load_A, min(s, last), s)
      fetch(load_B, min(s, last), s)
      cp_async_commit()
    end
    cp_async_wait(n_stages - 2)
    sync_threads()
    read(load_A, 0, 0)
    read(load_B, 0, 0)

    -- The stage that is multiplied, and the one before, which is free.
    local stage, free = 0, n_stages - 1
    for k in range(last + 1) do
      local factors = promoter and promoter:load(k)
      if promoter then clear(part) end
      for kb = 0, n_blocks - 1 do
        if kb == n_blocks - 1 then
          cp_async_wait(n_stages - 2)
          sync_threads()
          free = stage
          stage = where(stage == n_stages - 1, 0, stage + 1)
        end
        read(load_A, (kb + 1) % n_blocks, stage)
        read(load_B, (kb + 1) % n_blocks, stage)
        if kb == 0 then
          local ahead = min(k + n_stages - 1, last) -- beyond the end the last one again, unused
          fetch(load_A, ahead, free)
          fetch(load_B, ahead, free)
          cp_async_commit()
        end
        gemm(mma, tCrA(_, _, kb), tCrB(_, _, kb), part)
      end
      if promoter then promoter:add(tCrC, factors) end
    end
    cp_async_wait(0)

    local gC = nested.tile_of_C(variant, at.C, {at.m, at.n})         -- (bN, bM)
    local places = tile(at.places, {bM, bN}, {at.m, at.n})
    epilogue.begin(variant, alpha, beta, at):staged(stored, thr, tCrC, memory, gC,
      select(places, 1, 0))
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

return M
