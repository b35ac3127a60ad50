-- moye_pipeline.lua: MoYe's page on pipelining: C = A * B' with copies that overlap with
-- arithmetic. The first kernel has one buffer in shared memory: it reads a whole tile to registers,
-- so that the next tile can be copied while this one is multiplied. The second has two buffers; it
-- also reads the registers of the next step along K while it multiplies those of this one.
-- Usage: cuttle moye_pipeline.lua [M N K]
-- needs sm_80
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK = 128, 128, 8
local copies = tiled_copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u64>", f32), layout{32, 8}, layout{2, 1})
local mma = tiled_mma("UniversalFMA<f32>", {32, 8})

-- `slots` tiles in shared memory, padded by two rows.
local function partition(A, B, C, slots)
  local sA = shared(f32, layout({bM, bK, slots}, {1, bM + 2, (bM + 2) * bK}))
  local sB = shared(f32, layout({bN, bK, slots}, {1, bN + 2, (bN + 2) * bK}))
  local gA = tile(A, {bM, bK}, {blockIdx.x, _})                     -- (bM,bK,k)
  local gB = tile(B, {bN, bK}, {blockIdx.y, _})                     -- (bN,bK,k)
  local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})            -- (bM,bN)
  local thr_copy, thr_mma = copies:get_slice(threadIdx.x), mma:get_slice(threadIdx.x)
  local tAgA = thr_copy:partition_S(gA)                             -- (CPY,CPY_M,CPY_K,k)
  local tAsA = thr_copy:partition_D(sA)                             -- (CPY,CPY_M,CPY_K,slot)
  local tBgB = thr_copy:partition_S(gB)                             -- (CPY,CPY_N,CPY_K,k)
  local tBsB = thr_copy:partition_D(sB)                             -- (CPY,CPY_N,CPY_K,slot)
  local tCsA = thr_mma:partition_A(sA)                              -- (MMA,MMA_M,MMA_K,slot)
  local tCsB = thr_mma:partition_B(sB)                              -- (MMA,MMA_N,MMA_K,slot)
  local tCgC = thr_mma:partition_C(gC)                              -- (MMA,MMA_M,MMA_N)
  local tCrC = thr_mma:fragment_C(tCgC)
  clear(tCrC)
  return {AgA = tAgA, AsA = tAsA, BgB = tBgB, BsB = tBsB, CsA = tCsA, CsB = tCsB, CgC = tCgC,
          CrA = thr_mma:fragment_A(tCsA(_, _, _, 0)),               -- (MMA,MMA_M,MMA_K)
          CrB = thr_mma:fragment_B(tCsB(_, _, _, 0)), CrC = tCrC}
end

local one_buffer = kernel("one_buffer", function(A, B, C)
  local t = partition(A, B, C, 1)
  local function load(k)
    copy(copies, t.AgA(_, _, _, k), t.AsA(_, _, _, 0))
    copy(copies, t.BgB(_, _, _, k), t.BsB(_, _, _, 0))
  end
  local k_max = size(t.AgA, 3)
  load(0)
  for k in range(k_max) do
    cp_async_wait(0)
    sync_threads()                                                  -- the tile is there
    copy(t.CsA(_, _, _, 0), t.CrA)
    copy(t.CsB(_, _, _, 0), t.CrB)
    sync_threads()                                                  -- and is in registers
    if k + 1 < k_max then load(k + 1) end
    gemm(mma, t.CrA, t.CrB, t.CrC)
  end
  copy(t.CrC, t.CgC)
end)

local two_buffers = kernel("two_buffers", function(A, B, C)
  local t = partition(A, B, C, 2)
  pipeline(size(t.AgA, 3), {
    stages = 2, blocks = size(t.CrA, 2),
    load = function(k, slot)
      copy(copies, t.AgA(_, _, _, k), t.AsA(_, _, _, slot))
      copy(copies, t.BgB(_, _, _, k), t.BsB(_, _, _, slot))
    end,
    fetch = function(block, slot)
      copy(t.CsA(_, _, block, slot), t.CrA(_, _, block))
      copy(t.CsB(_, _, block, slot), t.CrB(_, _, block))
    end,
    compute = function(block) gemm(mma, t.CrA(_, _, block), t.CrB(_, _, block), t.CrC) end,
  })
  copy(t.CrC, t.CgC)
end)

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 2048 or 256))
local N = tonumber(arg[2] or (on_gpu and 2048 or 128))
local K = tonumber(arg[3] or (on_gpu and 256 or 64))
local A, B, C = rand(f32, {M, K}), rand(f32, {N, K}), zeros(f32, {M, N})
local all_ok = true
for _, variant in ipairs{{"one buffer", one_buffer}, {"two buffers", two_buffers}} do
  local launch = variant[2]:prepare{
    grid = {cdiv(M, bM), cdiv(N, bN)}, block = mma.threads}(A, B, C)
  clear(C)
  all_ok = beside_blas("pipeline, " .. variant[1], launch, A, B, C) and all_ok
end
os.exit(all_ok, true)
