-- sgemm_1.lua: CuTe's tutorial of that name: C = alpha * A * B' + beta * C in f32. Plain layouts of
-- threads divide the tiles: tA and tB to copy, tC to multiply. NT: M and N are contiguous in A and
-- B; TN: K is. Usage: cuttle sgemm_1.lua [M N K] [NT|TN]
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK = 128, 128, 8

-- What NT and TN differ in: how shared memory is laid out, and which threads read neighbours.
local variants = {
  NT = {sA = layout{bM, bK}, sB = layout{bN, bK}, tA = layout{32, 8}, tB = layout{32, 8}},
  TN = {sA = row_major{bM, bK}, sB = row_major{bN, bK},
        tA = row_major{32, 8}, tB = row_major{32, 8}},
}
local tC = layout{16, 16}

local function make_gemm(v)
  local sA_layout, sB_layout, tA, tB = v.sA, v.sB, v.tA, v.tB
  return kernel("sgemm_1", function(alpha, A, B, beta, C)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})                 -- (BLK_M,BLK_K,k)
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})                 -- (BLK_N,BLK_K,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})        -- (BLK_M,BLK_N)
    local sA = shared(A.dtype, sA_layout)                         -- (BLK_M,BLK_K)
    local sB = shared(B.dtype, sB_layout)                         -- (BLK_N,BLK_K)

    -- to copy
    local tAgA = parallelize(gA, tA, threadIdx.x)                 -- (THR_M,THR_K,k)
    local tAsA = parallelize(sA, tA, threadIdx.x)                 -- (THR_M,THR_K)
    local tBgB = parallelize(gB, tB, threadIdx.x)                 -- (THR_N,THR_K,k)
    local tBsB = parallelize(sB, tB, threadIdx.x)                 -- (THR_N,THR_K)

    -- to multiply: sA by the rows of tC, sB by its columns
    local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})         -- (THR_M,BLK_K)
    local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})         -- (THR_N,BLK_K)
    local tCgC = parallelize(gC, tC, threadIdx.x)                 -- (THR_M,THR_N)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)

    for k_tile in axes(tAgA, 2) do
      copy(tAgA(_, _, k_tile), tAsA)
      copy(tBgB(_, _, k_tile), tBsB)
      cp_async_commit()
      cp_async_wait(0)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    axpby(alpha, tCrC, beta, tCgC)
  end)
end

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 5120 or 256))
local N = tonumber(arg[2] or (on_gpu and 5120 or 256))
local K = tonumber(arg[3] or (on_gpu and 4096 or 64))

local function run(name)
  local order = name == "NT" and col_major or row_major
  local A, B, C = rand(f32, order{M, K}), rand(f32, order{N, K}), zeros(f32, {M, N})
  local gemm_device = make_gemm(variants[name])
  local launch = gemm_device:prepare{grid = cdiv({M, N}, {bM, bN}), block = size(tC)}(
    1.0, A, B, 0.0, C)
  return beside_blas("sgemm_1 " .. name, launch, A, B, C)
end

local all_ok = true
for _, name in ipairs(arg[4] and {arg[4]} or {"NT", "TN"}) do all_ok = run(name) and all_ok end
os.exit(all_ok, true)
