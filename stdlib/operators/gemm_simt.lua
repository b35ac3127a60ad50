-- gemm_simt.lua: the kernel of matmul for f32 on CUDA cores, at the speed of the GPU. Tiles of A
-- and B come through a ring of stages in shared memory, where each lies k by k with its rows
-- adjacent; the fragments of one k are in registers twice: those of k + 1 are read while k is
-- multiplied. K is not 0. Fields of its configurations, beside those that matmul.lua lists:
--   stages   tiles of K in the ring
--   lanes    {m, n} of a warp: {8, 4} or {4, 8}
--   lane_bits  which bits of the lane's number count along the mode of 4 lanes; {1, 16} unless
--            given. The loop over K is written the same for all, but the assembler plans 3 % more
--            cycles for it, with A turned, if the other three bits are neighbours
--   warps    {m, n} of the block. A thread has its rows and columns in runs of 4, those of all
--            lanes side by side, so that a warp reads shared memory without conflicts
--   order    of the multiply-adds of one k, as gemm takes it; the compiler follows it closely
--            enough for it to be worth a tenth of the time, so it is measured for each tile
--   turn     how an operand that is contiguous along K is turned round on its way: "async" copies
--            element by element, its copies spread over the multiplications of a tile, or
--            "registers" reads 16 bytes, which are stored one by one when the tile is done
--   loads    "ba": the fragments of B are read before those of A
--   slices   groups of warps that share a tile of C: each multiplies its part of every tile of K,
--            and their sums are added at the end. For problems with so few tiles that a
--            multiprocessor would have too few warps. 1 unless given
--   min_blocks  of a multiprocessor, which limits the registers of a thread
local raster = require "cuttle.gemm_raster"
local epilogue = require "cuttle.gemm_epilogue"
local nested = require "cuttle.gemm_nested"
local reduce = require "cuttle.gemm_reduce"
local M = { takes_nested = true }

local RUN <const> = 4 -- adjacent rows or columns of a thread: 16 bytes
local PAD <const> = 4 -- elements behind each k of what was turned round

local function n_slices_of(config) return config.slices or 1 end

function M.n_threads(config)
  return 32 * config.warps[1] * config.warps[2] * n_slices_of(config)
end

-- Threads as (M,N). Two bits of the lane's number count along the mode of 4 lanes, the others along
-- that of 8; a quarter of a warp, which reads 16 bytes at a time, needs few different places of
-- either operand by any of them.
local function thread_layout(lanes, warps, bits)
  local four = layout({2, 2}, bits or {1, 16})
  local eight = complement(four, 32)
  local m, n = eight, four
  if lanes[1] == 4 then m, n = four, eight end
  return layout({{shape(m), warps[1]}, {shape(n), warps[2]}},
                {{stride(m), 32}, {stride(n), 32 * warps[1]}})
end

-- Rows of the tile as (thread, value): runs of lanes side by side, as often as they fit, then those
-- of the next warp.
local function in_runs(extent, lanes, warps)
  local times = extent // (lanes * warps * RUN)
  return layout({lanes, warps, RUN, times}, {RUN, RUN * lanes * times, 1, RUN * lanes})
end

-- How an operand (rows, bK) comes in: a tiled copy, elements from one k to the next in shared
-- memory, and `turn` where it is turned round.
local function plan_operand(variant, major, rows)
  local n, bK = M.n_threads(variant), variant.tile[3]
  local one = atom("UniversalCopy<u32>", f32)
  if major == "mn" then
    local along = rows // RUN
    return { tiled = tiled_copy(one, layout{along, n // along}, layout{RUN, 1}), ld = rows }
  elseif variant.turn == "registers" then -- two quads of K of a row by adjacent lanes: one sector
    return { tiled = tiled_copy(one, row_major{n // 2, 2}, row_major{1, RUN}),
             ld = rows + PAD, turn = "registers" }
  end
  return { tiled = tiled_copy(one, row_major{n // bK, bK}), ld = rows + PAD,
           turn = "async" }
end

-- One operand on its way from its tiles (rows,bK,k) to the ring (rows,bK,stage): a thread's parts.
local function make_loader(plan, tiles, ring)
  local thr = plan.tiled:get_slice(threadIdx.x)
  local loader = { from = thr:partition_S(tiles), to = thr:partition_D(ring), turn = plan.turn }
  if plan.turn == "registers" then
    loader.held = fragment(f32, shape(loader.from(_, _, _, 0)))
  end
  return loader
end

-- Starts those copies of tile k that belong to step kb of n.
local function fetch(loader, k, stage, kb, n)
  local from, to = loader.from(_, _, _, k), loader.held or loader.to(_, _, _, stage)
  local bring = loader.bring
  if loader.turn ~= "async" then
    if kb == 0 then
      if bring then bring(k, to) else copy(from, to) end
    end
    return
  end
  local n_m, n_parts = size(from, 1), size(from, 1) * size(from, 2)
  for i = 0, n_parts - 1 do
    if kb == i * (n - 1) // n_parts then
      if bring then bring(k, to, i)
      else copy(from(_, i % n_m, i // n_m), to(_, i % n_m, i // n_m)) end
    end
  end
end

-- Stores what came by way of registers.
local function settle(loader, stage)
  if loader.held ~= nil then copy(loader.held, loader.to(_, _, _, stage)) end
end

-- A thread's slice, and its number there. n: how many `slices` there are, of how many `threads`.
local function slice_of(n)
  if n.slices == 1 then return 0 end
  return threadIdx.x // n.threads
end

local function lane_of(n)
  if n.slices == 1 then return threadIdx.x end
  return threadIdx.x % n.threads
end

-- The part of a ring (rows, bK, stage) that the slice multiplies.
local function part_of(ring, n)
  if n.slices == 1 then return ring end
  return tile(ring, {size(ring, 0), size(ring, 1) // n.slices, size(ring, 2)}, {0, slice_of(n), 0})
end

-- Adds the sums of the other slices to those of the first, in their order.
local function add_slices(sums, n)
  local slice, lane, per_slice = slice_of(n), lane_of(n), size(sums)
  local parts = shared(f32, layout{n.threads, per_slice, n.slices - 1})
  if slice > 0 then
    for i = 0, per_slice - 1 do parts[{lane, i, slice - 1}] = sums[i] end
  end
  sync_threads()
  if slice == 0 then
    for other = 0, n.slices - 2 do
      for i = 0, per_slice - 1 do sums[i] = sums[i] + parts[{lane, i, other}] end
    end
  end
end

function M.make(variant)
  local bM, bN, bK = table.unpack(variant.tile)
  local lanes, warps, n_stages = variant.lanes, variant.warps, variant.stages
  local mma = tiled_mma("UniversalFMA<f32>", thread_layout(lanes, warps, variant.lane_bits),
    {in_runs(bM, lanes[1], warps[1]), in_runs(bN, lanes[2], warps[2])})
  local plan_A = plan_operand(variant, variant.a_major, bM)
  local plan_B = plan_operand(variant, variant.b_major, bN)
  local in_A = layout({bM, bK, n_stages}, {1, plan_A.ld, plan_A.ld * bK})
  local in_B = layout({bN, bK, n_stages}, {1, plan_B.ld, plan_B.ld * bK})
  local options = {order = variant.order}
  local n = { slices = n_slices_of(variant), threads = 32 * warps[1] * warps[2] }
  local n_k = bK // n.slices -- of a tile, multiplied by one slice
  local loads_b_first = variant.loads == "ba"
  reduce.plan(variant, mma, n.threads)

  return kernel(variant.name, function(A, B, C, alpha, beta, ...)
    local at = raster.tile(variant, A, B, C, {...})
    if not at.is_there then return end
    local sA, sB = shared(f32, in_A), shared(f32, in_B)
    local gA = nested.tiles(variant, "A", at.A, {bM, bK}, at.m)      -- (bM, bK, k)
    local gB = nested.tiles(variant, "B", at.B, {bN, bK}, at.n)      -- (bN, bK, k)
    local load_A, load_B = make_loader(plan_A, gA, sA), make_loader(plan_B, gB, sB)
    load_A.bring = nested.bringer(variant, "A", at.A, load_A.from)
    load_B.bring = nested.bringer(variant, "B", at.B, load_B.from)

    local thr = mma:get_slice(lane_of(n))
    local tCsA = thr:partition_A(part_of(sA, n))                     -- (1, M, K, stage)
    local tCsB = thr:partition_B(part_of(sB, n))
    local tCgC = nested.part_of_C(variant, thr, at.C, {at.m, at.n})
    local tCrA = fragment(f32, {size(tCsA, 1), 2})                   -- (M, k % 2)
    local tCrB = fragment(f32, {size(tCsB, 1), 2})
    local tCrC = fragment(f32, mma:partition_shape_C{bM, bN})        -- (1, M, N)
    clear(tCrC)

    local last = size(load_A.from, 3) - 1
    if variant.grouped == "k" then last = max(last, 0) end -- of an empty group zeros
    for s = 0, n_stages - 2 do
      for kb = 0, n_k - 1 do
        fetch(load_A, min(s, last), s, kb, n_k)
        fetch(load_B, min(s, last), s, kb, n_k)
      end
      settle(load_A, s)
      settle(load_B, s)
      cp_async_commit()
    end
    cp_async_wait(n_stages - 2)
    sync_threads()
    copy(tCsA(0, _, 0, 0), tCrA(_, 0))
    copy(tCsB(0, _, 0, 0), tCrB(_, 0))

    -- The stage that is multiplied, and the one before, which is free.
    local stage, free = 0, n_stages - 1
    for k in range(last + 1) do
      local ahead = min(k + n_stages - 1, last) -- beyond the end it is the last one again, unused
      for kb in range(n_k) do
        if kb == n_k - 1 then
          settle(load_A, free)
          settle(load_B, free)
          cp_async_commit()
          cp_async_wait(n_stages - 2)
          sync_threads()
          free = stage
          stage = where(stage == n_stages - 1, 0, stage + 1)
        end
        fetch(load_A, ahead, free, kb, n_k)
        fetch(load_B, ahead, free, kb, n_k)
        local soon = (kb + 1) % n_k
        if loads_b_first then copy(tCsB(0, _, soon, stage), tCrB(_, soon % 2)) end
        copy(tCsA(0, _, soon, stage), tCrA(_, soon % 2))
        if not loads_b_first then copy(tCsB(0, _, soon, stage), tCrB(_, soon % 2)) end
        gemm(tCrA(_, kb % 2), tCrB(_, kb % 2), tCrC(0, _, _), options)
      end
    end
    if n.slices > 1 then
      add_slices(tCrC, n)
      if slice_of(n) > 0 then return end
    end
    epilogue.begin(variant, alpha, beta, at):store(tCrC, tCgC,
      thr:partition_C(tile(at.places, {bM, bN}, {at.m, at.n})))
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

-- Elements of the ring of an operand. No padding follows its last k.
local function ring_size(config, rows, is_turned)
  local n_k = config.tile[3] * config.stages
  return is_turned and (rows + PAD) * n_k - PAD or rows * n_k
end

--- The rings, and the sums that slices hand to the first one.
function M.shared_bytes(config, dtype, majors)
  local bM, bN = config.tile[1], config.tile[2]
  local n = ring_size(config, bM, majors:sub(1, 1) == "T")
    + ring_size(config, bN, majors:sub(2, 2) == "N") + bM * bN * (n_slices_of(config) - 1)
  return n * dtype.bits // 8
end

return M
