-- sgemm_sm70.lua: CuTe's tutorial of that name: C = alpha * A * B' + beta * C in f32, like sgemm_2
-- but with two pipelines. While one tile is multiplied, the next one travels through registers to
-- shared memory; while one k of a tile is multiplied, the next k is read from there to registers.
-- The file has two versions of the main loop, one written by hand and one with `pipeline`.
-- NT: M and N are contiguous in A and B; TN: K is.
-- Usage: cuttle sgemm_sm70.lua [M N K] [NT|TN]
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK = 128, 128, 8
local mma = tiled_mma("UniversalFMA<f32>", {16, 16, 1})

-- What NT and TN differ in: copies of 16 bytes where M and N are contiguous, else of one element,
-- into shared memory that is padded against bank conflicts.
local variants = {
  NT = {sA = layout{bM, bK}, sB = layout{bN, bK},
        copy = tiled_copy(atom("UniversalCopy<u128>", f32), layout{32, 8}, layout{4, 1})},
  TN = {sA = layout({bM, bK}, {1, bM + 1}), sB = layout({bN, bK}, {1, bN + 1}),
        copy = tiled_copy(atom("UniversalCopy<u32>", f32), row_major{32, 8}, layout{1, 1})},
}

-- A main loop takes functions of the kernel: load(k) begins to read a tile to registers, store()
-- writes these to shared memory, fetch(k_block) reads one k from there, compute(k_block) multiplies
-- it.
local function by_hand(k_tiles, k_blocks, load, store, fetch, compute)
  load(0)
  store()
  sync_threads()
  fetch(0)                                              -- the first k of the first tile
  for k_tile in range(k_tiles) do
    for k_block = 0, k_blocks - 1 do                    -- unrolled
      if k_block == k_blocks - 1 then                   -- the next tile to shared memory
        sync_threads()
        store()
        sync_threads()
      end
      fetch((k_block + 1) % k_blocks)                   -- the next k to registers
      if k_block == 0 then                              -- the tile after this one to registers
        load(where(k_tile + 1 < k_tiles, k_tile + 1, k_tile))
      end
      compute(k_block)
    end
  end
end

local function by_pipeline(k_tiles, k_blocks, load, store, fetch, compute)
  pipeline(k_tiles, {stages = 1, blocks = k_blocks, load = load, store = store, fetch = fetch,
                     compute = compute})
end

local function make_gemm(v, main_loop)
  local sA_layout, sB_layout, copy_a, copy_b = v.sA, v.sB, v.copy, v.copy
  -- ptxas arranges kernels whose name says cutlass otherwise, and better; the names of CuTe's do.
  local name = main_loop == by_pipeline and "cutlass_sgemm_sm70_pipeline" or "cutlass_sgemm_sm70"
  return kernel(name, function(alpha, A, B, beta, C)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})                 -- (BLK_M,BLK_K,k)
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})                 -- (BLK_N,BLK_K,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})        -- (BLK_M,BLK_N)
    local sA = shared(A.dtype, sA_layout)                         -- (BLK_M,BLK_K)
    local sB = shared(B.dtype, sB_layout)                         -- (BLK_N,BLK_K)

    local thr_a, thr_b = copy_a:get_slice(threadIdx.x), copy_b:get_slice(threadIdx.x)
    local tAgA, tAsA = thr_a:partition_S(gA), thr_a:partition_D(sA) -- (CPY,CPY_M,CPY_K,k)
    local tBgB, tBsB = thr_b:partition_S(gB), thr_b:partition_D(sB) -- (CPY,CPY_N,CPY_K,k)
    local tArA, tBrB = fragment_like(tAsA), fragment_like(tBsB)

    local thr_mma = mma:get_slice(threadIdx.x)
    local tCsA, tCsB = thr_mma:partition_A(sA), thr_mma:partition_B(sB) -- (MMA,MMA_M,MMA_K)
    local tCgC = thr_mma:partition_C(gC)                          -- (MMA,MMA_M,MMA_N)
    local tCrA, tCrB = thr_mma:fragment_A(tCsA), thr_mma:fragment_B(tCsB)
    local tCrC = thr_mma:fragment_C(tCgC)
    clear(tCrC)

    main_loop(size(tAgA, 3), size(tCrA, 2), function(k)
      copy(copy_a, tAgA(_, _, _, k), tArA)
      copy(copy_b, tBgB(_, _, _, k), tBrB)
    end, function()
      copy(tArA, tAsA)
      copy(tBrB, tBsB)
    end, function(k_block)
      copy(tCsA(_, _, k_block), tCrA(_, _, k_block))
      copy(tCsB(_, _, k_block), tCrB(_, _, k_block))
    end, function(k_block)
      gemm(mma, tCrA(_, _, k_block), tCrB(_, _, k_block), tCrC)
    end)
    axpby(alpha, tCrC, beta, tCgC)
  end)
end

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 5120 or 256))
local N = tonumber(arg[2] or (on_gpu and 5120 or 256))
local K = tonumber(arg[3] or (on_gpu and 4096 or 64))

local function run(name, way, main_loop)
  local order = name == "NT" and col_major or row_major
  local A, B, C = rand(f32, order{M, K}), rand(f32, order{N, K}), zeros(f32, {M, N})
  local gemm_device = make_gemm(variants[name], main_loop)
  local launch = gemm_device:prepare{grid = cdiv({M, N}, {bM, bN}), block = mma.threads}(
    1.0, A, B, 0.0, C)
  return beside_blas(("sgemm_sm70 %s, %s,"):format(name, way), launch, A, B, C)
end

local names = arg[4] and {arg[4]} or {"NT", "TN"}
local all_ok = true
for _, name in ipairs(names) do all_ok = run(name, "by hand", by_hand) and all_ok end
for _, name in ipairs(names) do all_ok = run(name, "by pipeline", by_pipeline) and all_ok end
os.exit(all_ok, true)
