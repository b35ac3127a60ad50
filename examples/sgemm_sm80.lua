-- sgemm_sm80.lua: CuTe's tutorial of that name: C = alpha * A * B' + beta * C with one pipeline of
-- three tiles in shared memory, filled by cp.async, and another of registers. The main loop is
-- written by hand and with `pipeline`. F16: tensor cores multiply f16 with sums in f16, read by
-- ldmatrix, K contiguous; NT and TN: f32 without tensor cores.
-- Usage: cuttle sgemm_sm80.lua [M N K] [F16|NT|TN]
-- needs sm_80
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bP = 128, 128, 3

local function cp_async(type, dtype)
  return atom("SM80_CP_ASYNC_CACHEALWAYS<" .. type .. ">", dtype)
end
local fma = tiled_mma("UniversalFMA<f32>", {16, 16, 1})
local swizzled = composition(swizzle(3, 3, 3), layout({8, {8, 8}}, {8, {1, 64}}))
local padded = layout({bM, 8}, {1, bM + 1})

-- Element type and order of the operands, tiles in shared memory, how they come there (g2s) and
-- from there to registers (s2r), and the MMA.
local variants = {
  F16 = {dtype = f16, order = row_major,
         sA = tile_to_shape(swizzled, {bM, 64, bP}), sB = tile_to_shape(swizzled, {bN, 64, bP}),
         g2s = tiled_copy(cp_async("u128", f16), row_major{16, 8}, layout{1, 8}),
         s2r = atom("SM75_U32x4_LDSM_N", f16),
         mma = tiled_mma("SM80_16x8x16_F16F16F16F16_TN", {2, 2}, {32, 32, 16})},
  NT = {dtype = f32, order = col_major, sA = layout{bM, 8, bP}, sB = layout{bN, 8, bP},
        g2s = tiled_copy(cp_async("u128", f32), layout{32, 8}, layout{4, 1}),
        s2r = atom("UniversalCopy<u32>", f32), mma = fma},
  TN = {dtype = f32, order = row_major, s2r = atom("UniversalCopy<u32>", f32), mma = fma,
        sA = tile_to_shape(padded, {bM, 8, bP}), sB = tile_to_shape(padded, {bN, 8, bP}),
        g2s = tiled_copy(cp_async("u32", f32), row_major{32, 8}, layout{1, 1})},
}

-- A main loop takes functions of the kernel: load(k, slot) begins to copy a tile to shared memory,
-- fetch(k_block, slot) brings one k of a slot to registers, compute(k_block) multiplies it. It
-- begins the first copies, and returns what runs the rest.
local function by_hand(k_tiles, pipes, load)
  local function load_group(k, slot)
    load(min(k, k_tiles - 1), slot)
    cp_async_commit()
  end
  for pipe = 0, pipes - 2 do load_group(pipe, pipe) end   -- all tiles but one are on their way

  return function(k_blocks, fetch, compute)
    local read, write = 0, pipes - 1                      -- stages to multiply, to fill
    local stage = read                                    -- the stage that registers are read from
    cp_async_wait(pipes - 2)
    sync_threads()
    fetch(0, stage)                                       -- the first k of the first tile
    for k_tile in range(k_tiles) do
      for k_block = 0, k_blocks - 1 do                    -- unrolled
        if k_block == k_blocks - 1 then                   -- on to the next tile, which has arrived
          stage = read
          cp_async_wait(pipes - 2)
          sync_threads()
        end
        fetch((k_block + 1) % k_blocks, stage)            -- the next k
        if k_block == 0 then                              -- a tile to the stage that is used up
          load_group(k_tile + pipes - 1, write)
          write, read = read, where(read == pipes - 1, 0, read + 1)
        end
        compute(k_block)
      end
    end
  end
end

local function by_pipeline(k_tiles, pipes, load)
  return function(k_blocks, fetch, compute)
    pipeline(k_tiles, {stages = pipes, blocks = k_blocks, load = load, fetch = fetch,
                       compute = compute})
  end
end

local function make_gemm(v, main_loop)
  local sA_layout, sB_layout, g2s, mma = v.sA, v.sB, v.g2s, v.mma
  local tM, tN, tK = size(sA_layout, 0), size(sB_layout, 0), size(sA_layout, 1)
  local s2r_a, s2r_b = tiled_copy_A(v.s2r, mma), tiled_copy_B(v.s2r, mma)
  -- ptxas arranges kernels whose name says cutlass otherwise, and better; the names of CuTe's do.
  local name = main_loop == by_pipeline and "cutlass_sgemm_sm80_pipeline" or "cutlass_sgemm_sm80"
  return kernel(name, function(alpha, A, B, beta, C)
    local gA = tile(A, {tM, tK}, {blockIdx.x, _})                 -- (BLK_M,BLK_K,k)
    local gB = tile(B, {tN, tK}, {blockIdx.y, _})                 -- (BLK_N,BLK_K,k)
    local gC = tile(C, {tM, tN}, {blockIdx.x, blockIdx.y})        -- (BLK_M,BLK_N)
    local sA = shared(A.dtype, sA_layout)                         -- (BLK_M,BLK_K,PIPE)
    local sB = shared(B.dtype, sB_layout)                         -- (BLK_N,BLK_K,PIPE)

    local thr_g2s = g2s:get_slice(threadIdx.x)
    local tAgA, tAsA = thr_g2s:partition_S(gA), thr_g2s:partition_D(sA) -- (CPY,CPY_M,CPY_K,k|PIPE)
    local tBgB, tBsB = thr_g2s:partition_S(gB), thr_g2s:partition_D(sB) -- (CPY,CPY_N,CPY_K,k|PIPE)

    local k_tiles = size(tAgA, 3)
    local multiply = main_loop(k_tiles, size(tAsA, 3), function(k, slot)
      copy(g2s, tAgA(_, _, _, k), tAsA(_, _, _, slot))
      copy(g2s, tBgB(_, _, _, k), tBsB(_, _, _, slot))
    end)

    local thr_mma = mma:get_slice(threadIdx.x)
    local tCgC = thr_mma:partition_C(gC)                          -- (MMA,MMA_M,MMA_N)
    local tCrA = thr_mma:partition_fragment_A(sA(_, _, 0))        -- (MMA,MMA_M,MMA_K)
    local tCrB = thr_mma:partition_fragment_B(sB(_, _, 0))        -- (MMA,MMA_N,MMA_K)
    local tCrC = thr_mma:fragment_C(tCgC)
    clear(tCrC)
    local thr_a, thr_b = s2r_a:get_slice(threadIdx.x), s2r_b:get_slice(threadIdx.x)
    local tXsA, tXrA = thr_a:partition_S(sA), thr_a:retile_D(tCrA) -- (CPY,MMA_M,MMA_K[,PIPE])
    local tXsB, tXrB = thr_b:partition_S(sB), thr_b:retile_D(tCrB) -- (CPY,MMA_N,MMA_K[,PIPE])

    multiply(size(tCrA, 2), function(k_block, slot)
      copy(s2r_a, tXsA(_, _, k_block, slot), tXrA(_, _, k_block))
      copy(s2r_b, tXsB(_, _, k_block, slot), tXrB(_, _, k_block))
    end, function(k_block)
      gemm(mma, tCrA(_, _, k_block), tCrB(_, _, k_block), tCrC)
    end)
    if C.dtype == f32 then
      axpby(alpha, tCrC, beta, tCgC)
    else                                                  -- rounded once
      local sums = fragment_like(tCrC, f32)
      if beta ~= 0 then copy(tCgC, sums) end
      axpby(alpha, tCrC, beta, sums)
      copy(cast(sums, C.dtype), tCgC)
    end
  end)
end

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 5120 or 256))
local N = tonumber(arg[2] or (on_gpu and 5120 or 256))
local K = tonumber(arg[3] or (on_gpu and 4096 or 128))

local function run(name, way, main_loop)
  local v = variants[name]
  local A, B = randn(v.dtype, v.order{M, K}), randn(v.dtype, v.order{N, K})
  local C, gemm_device = zeros(v.dtype, {M, N}), make_gemm(v, main_loop)
  local launch = gemm_device:prepare{grid = cdiv({M, N}, {bM, bN}), block = v.mma.threads}(
    1.0, A, B, 0.0, C)
  -- f16 sums are rounded at each step, up to 2.6 in all where K is 4096; a tile that is missing
  -- would be off by 8.
  local atol = v.dtype == f16 and 0.04 * K ^ 0.5 or 1e-5 * K ^ 0.5
  local tolerance = {rtol = v.dtype == f16 and 0 or 1e-4, atol = atol}
  return beside_blas(("sgemm_sm80 %s, %s,"):format(name, way), launch, A, B, C, tolerance)
end

local names = arg[4] and {arg[4]} or {"NT", "TN", "F16"}
local all_ok = true
for _, name in ipairs(names) do all_ok = run(name, "by hand", by_hand) and all_ok end
for _, name in ipairs(names) do all_ok = run(name, "by pipeline", by_pipeline) and all_ok end
os.exit(all_ok, true)
