-- moye_async.lua: MoYe's page on asynchronous copies. It is C = A * B' as in moye_tiled_matmul.lua,
-- but cp.async brings the tiles to shared memory without registers. Only the tiled copy differs.
-- Copies of 8 bytes need columns of shared memory that begin at multiples of 8 bytes, so these are
-- padded by two rows instead of one. Usage: cuttle moye_async.lua [M N K]
-- needs sm_80
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK = 128, 128, 8
local mma = tiled_mma("UniversalFMA<f32>", {16, 16})

local function make_matmul(copy_a, copy_b, pad)
  return kernel("async_matmul", function(A, B, C)
    local sA = shared(A.dtype, layout({bM, bK}, {1, bM + pad}))
    local sB = shared(B.dtype, layout({bN, bK}, {1, bN + pad}))
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})                   -- (bM,bK,k)
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})                   -- (bN,bK,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})          -- (bM,bN)

    local thr_copy_a, thr_copy_b = copy_a:get_slice(threadIdx.x), copy_b:get_slice(threadIdx.x)
    local tAgA = thr_copy_a:partition_S(gA)                         -- (CPY,CPY_M,CPY_K,k)
    local tAsA = thr_copy_a:partition_D(sA)                         -- (CPY,CPY_M,CPY_K)
    local tBgB = thr_copy_b:partition_S(gB)                         -- (CPY,CPY_N,CPY_K,k)
    local tBsB = thr_copy_b:partition_D(sB)                         -- (CPY,CPY_N,CPY_K)

    local thr_mma = mma:get_slice(threadIdx.x)
    local tCsA = thr_mma:partition_A(sA)                            -- (MMA,MMA_M,MMA_K)
    local tCsB = thr_mma:partition_B(sB)                            -- (MMA,MMA_N,MMA_K)
    local tCgC = thr_mma:partition_C(gC)                            -- (MMA,MMA_M,MMA_N)
    local tCrC = thr_mma:fragment_C(tCgC)
    clear(tCrC)

    for k in axes(tAgA, 3) do
      copy(copy_a, tAgA(_, _, _, k), tAsA)
      copy(copy_b, tBgB(_, _, _, k), tBsB)
      cp_async_wait(0)
      sync_threads()
      gemm(mma, tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(tCrC, tCgC)
  end)
end

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 2048 or 256))
local N = tonumber(arg[2] or (on_gpu and 2048 or 128))
local K = tonumber(arg[3] or (on_gpu and 256 or 64))
local A, B, C = rand(f32, {M, K}), rand(f32, {N, K}), zeros(f32, {M, N})

-- Copies of one element or two, and by how many rows shared memory is padded.
local variants = {
  {"4 bytes", "SM80_CP_ASYNC_CACHEALWAYS<u32>", 1},
  {"8 bytes", "SM80_CP_ASYNC_CACHEALWAYS<u64>", 2},
}
local all_ok = true
for _, variant in ipairs(variants) do
  local name, atom_name, pad = table.unpack(variant)
  local by = tiled_copy(atom(atom_name, f32), layout{32, 8}, layout{4, 1})
  local launch = make_matmul(by, by, pad):prepare{
    grid = {cdiv(M, bM), cdiv(N, bN)}, block = mma.threads}(A, B, C)
  clear(C)
  all_ok = beside_blas("async_matmul, copies of " .. name, launch, A, B, C) and all_ok
end
os.exit(all_ok, true)
