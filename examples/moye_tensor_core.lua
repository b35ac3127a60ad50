-- moye_tensor_core.lua: MoYe's page on tensor cores: C = A * B' of tf32, sums in f32, M contiguous
-- in A and K contiguous in B. First one warp and a plain MMA atom compute a product; then ldmatrix
-- loads B, with a tiled copy derived from the tiled MMA; at last the double-buffered kernel of
-- moye_pipeline.lua does both, with MoYe's tiles and with a layout without bank conflicts.
-- Usage: cuttle moye_tensor_core.lua [M N K]
-- needs sm_80
local beside_blas = require "cuttle.beside_blas"
local all_ok = true

-- What a thread has of the operands. smem_b: how B gets from shared memory to registers.
local function partition(p, A, B, C)
  local bM, bN, bK = size(p.sA, 0), size(p.sB, 0), size(p.sA, 1)
  local sA, sB = shared(A.dtype, p.sA), shared(B.dtype, p.sB)       -- (bM,bK,slot)
  local gA = tile(A, {bM, bK}, {blockIdx.x, _})                     -- (bM,bK,k)
  local gB = tile(B, {bN, bK}, {blockIdx.y, _})                     -- (bN,bK,k)
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})            -- (bM,bN)
  local gmem_a, gmem_b = p.gmem_a:get_slice(threadIdx.x), p.gmem_b:get_slice(threadIdx.x)
  local smem_a, smem_b = p.smem_a:get_slice(threadIdx.x), p.smem_b:get_slice(threadIdx.x)
  local thr_mma = p.mma:get_slice(threadIdx.x)
  local tAgA, tAsA = gmem_a:partition_S(gA), gmem_a:partition_D(sA) -- (CPY,CPY_M,CPY_K,k or slot)
  local tBgB, tBsB = gmem_b:partition_S(gB), gmem_b:partition_D(sB) -- (CPY,CPY_N,CPY_K,k or slot)
  local tCrA = thr_mma:partition_fragment_A(sA(_, _, 0))            -- (MMA,MMA_M,MMA_K)
  local tCrB = thr_mma:partition_fragment_B(sB(_, _, 0))            -- (MMA,MMA_N,MMA_K)
  local tCgC = thr_mma:partition_C(gC)                              -- (MMA,MMA_M,MMA_N)
  local tCrC = thr_mma:fragment_C(tCgC)
  clear(tCrC)
  return {AgA = tAgA, AsA = tAsA, BgB = tBgB, BsB = tBsB, CgC = tCgC,
          CrA = tCrA, CrB = tCrB, CrC = tCrC,
          XsA = smem_a:partition_S(sA), XrA = smem_a:retile_D(tCrA), -- (CPY,MMA_M,MMA_K,slot)
          XsB = smem_b:partition_S(sB), XrB = smem_b:retile_D(tCrB)}
end

-- {====== One warp ======

local atom_mma = tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN")
local word = atom("UniversalCopy<u32>", tf32)

local function make_small(p)
  return kernel("one_warp", function(A, B, C)
    local t = partition(p, A, B, C)
    copy(p.gmem_a, t.AgA(_, _, _, 0), t.AsA(_, _, _, 0))
    copy(p.gmem_b, t.BgB(_, _, _, 0), t.BsB(_, _, _, 0))
    cp_async_wait(0)
    sync_threads()
    copy(p.smem_a, t.XsA(_, _, _, 0), t.XrA)
    copy(p.smem_b, t.XsB(_, _, _, 0), t.XrB)
    gemm(p.mma, t.CrA, t.CrB, t.CrC)
    copy(t.CrC, t.CgC)
  end)
end

local function run_small(title, smem_b)
  local by_16 = atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", tf32)
  local by_8 = atom("SM80_CP_ASYNC_CACHEALWAYS<u64>", tf32)
  local k = make_small{
    sA = layout{16, 8, 1}, sB = layout({8, 8, 1}, {8, 1, 64}), mma = atom_mma,
    gmem_a = tiled_copy(by_16, layout{4, 8}, layout{4, 1}),
    gmem_b = tiled_copy(by_8, row_major{8, 4}, row_major{1, 2}),
    smem_a = tiled_copy_A(word, atom_mma), smem_b = smem_b,
  }
  local A, B, C = rand(tf32, {16, 8}), rand(tf32, row_major{8, 8}), zeros(f32, {16, 8})
  k{grid = 1, block = 32}(A, B, C)
  local want = reference.matmul(A:to("cpu"), B:to("cpu"))           -- rounded to tf32
  local ok, worst = allclose(C:to("cpu"), want)
  print(("%s: %s"):format(title, ok and "correct" or worst))
  all_ok = all_ok and ok
end

run_small("one warp, words from shared memory", tiled_copy_B(word, atom_mma))
run_small("one warp, B by ldmatrix", tiled_copy_B(atom("SM75_U32x2_LDSM_N", tf32), atom_mma))

-- {====== Double buffering ======

local bM, bN, bK = 128, 128, 16
local mma = tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", layout({2, 2, 1}, {2, 1, 1}), {32, 32, 8})

local function make_matmul(p)
  return kernel("tensor_core", function(A, B, C)
    local t = partition(p, A, B, C)
    pipeline(size(t.AgA, 3), {
      stages = 2, blocks = size(t.CrA, 2),
      load = function(k, slot)
        copy(p.gmem_a, t.AgA(_, _, _, k), t.AsA(_, _, _, slot))
        copy(p.gmem_b, t.BgB(_, _, _, k), t.BsB(_, _, _, slot))
      end,
      fetch = function(block, slot)
        copy(p.smem_a, t.XsA(_, _, block, slot), t.XrA(_, _, block))
        copy(p.smem_b, t.XsB(_, _, block, slot), t.XrB(_, _, block))
      end,
      compute = function(block) gemm(mma, t.CrA(_, _, block), t.CrB(_, _, block), t.CrC) end,
    })
    copy(t.CrC, t.CgC)
  end)
end

-- A is padded by 8 rows, so that the 4 steps of K that a warp reads at once lie 8 banks apart;
-- of B the 16-byte parts of a row change places with each second row.
local storages = {
  {"as MoYe stores it", layout{bM, bK, 2}, layout({bN, bK, 2}, {bK, 1, bN * bK})},
  {"no bank conflicts", layout({bM, bK, 2}, {1, bM + 8, (bM + 8) * bK}),
   composition(swizzle(2, 2, 3), layout({bN, bK, 2}, {bK, 1, bN * bK}))},
}

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 2048 or 256))
local N = tonumber(arg[2] or (on_gpu and 2048 or 128))
local K = tonumber(arg[3] or (on_gpu and 256 or 64))
local A, B, C = rand(tf32, {M, K}), rand(tf32, row_major{N, K}), zeros(f32, {M, N})
for _, storage in ipairs(storages) do
  local by_16 = atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", tf32)
  local launch = make_matmul{
    sA = storage[2], sB = storage[3], mma = mma,
    gmem_a = tiled_copy(by_16, layout{16, 8}, layout{4, 1}),
    gmem_b = tiled_copy(by_16, row_major{32, 4}, row_major{1, 4}),
    smem_a = tiled_copy_A(word, mma),               -- ldmatrix needs K to be contiguous
    smem_b = tiled_copy_B(atom("SM75_U32x4_LDSM_N", tf32), mma),
  }:prepare{grid = {cdiv(M, bM), cdiv(N, bN)}, block = mma.threads}(A, B, C)
  clear(C)
  all_ok = beside_blas("tensor_core, " .. storage[1], launch, A, B, C) and all_ok
end
os.exit(all_ok, true)
