-- wgmma_tma_sm90.lua: CuTe's tutorial of that name: C = alpha * A * B' + beta * C in f16 with sums
-- in f16, by one warp group. One of its threads lets TMA fill three tiles in shared memory, and
-- barriers show which are full and which are empty. Unlike in the tutorial, a product is in flight
-- while the next one begins. NT: A and B are contiguous along M and N; TN: along K.
-- Usage: cuttle wgmma_tma_sm90.lua [M N K] [NT|TN], M a multiple of 256, N of 128, K of 64
-- needs sm_90a
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK, bP = 128, 128, 64, 3

-- Of 128 columns: with 64, wgmma would read A twice as often.
local mma = tiled_mma("SM90_64x128x16_F16F16F16_SS")

-- Order of the operands and what wgmma reads in shared memory.
local variants = {
  NT = {order = col_major, smem = gmma_layout(f16, "MN", 128)},
  TN = {order = row_major, smem = gmma_layout(f16, "K", 128)},
}

local function make_gemm(v)
  return kernel("wgmma_tma_sm90", function(alpha, A, B, beta, C)
    local gA = tile(tma_tensor(A), {bM, bK}, {blockIdx.x, _})     -- (BLK_M,BLK_K,k)
    local gB = tile(tma_tensor(B), {bN, bK}, {blockIdx.y, _})     -- (BLK_N,BLK_K,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})        -- (BLK_M,BLK_N)
    local sA = shared(f16, tile_to_shape(v.smem, {bM, bK, bP}))   -- (BLK_M,BLK_K,PIPE)
    local sB = shared(f16, tile_to_shape(v.smem, {bN, bK, bP}))   -- (BLK_N,BLK_K,PIPE)
    local full, empty = mbarrier(bP, 1), mbarrier(bP, mma.threads)
    local bytes = (bM + bN) * bK * f16.bytes
    sync_cluster()                                        -- barriers of the cluster are ready

    local thr = mma:get_slice(threadIdx.x)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)   -- (MMA,MMA_M|N,MMA_K,PIPE)
    local tCgC = thr:partition_C(gC)                              -- (MMA,MMA_M,MMA_N)
    local tCrC = thr:fragment_C(tCgC)
    clear(tCrC)

    local function load(k, pipe)
      full[pipe]:arrive_expect_tx(bytes)
      tma_load(gA(_, _, k), sA(_, _, pipe), full[pipe])
      tma_load(gB(_, _, k), sB(_, _, pipe), full[pipe])
    end

    local k_tiles = size(gA, 2)
    if threadIdx.x == 0 then
      for pipe = 0, bP - 1 do
        if pipe < k_tiles then load(pipe, pipe) end
      end
    end

    local read, free = pipeline_state(bP), pipeline_state(bP)
    local first_warp = shfl_idx(threadIdx.x // 32, 0) == 0  -- the same for the whole warp
    for k_tile in range(k_tiles) do
      local slot = shfl_idx(read.slot, 0)                  -- known to be one for the warp
      full[slot]:wait(read.parity)
      wgmma_fence()
      gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCrC)
      wgmma_commit()
      wgmma_wait(1)                                        -- the product before this one is done
      read:advance()
      if k_tile > 0 then
        empty[free.slot]:arrive()
        if first_warp and k_tile - 1 + bP < k_tiles and elect_one() then
          empty[free.slot]:wait(free.parity)
          load(k_tile - 1 + bP, free.slot)
        end
        free:advance()
      end
    end
    wgmma_wait(0)
    local sums = fragment_like(tCrC, f32)                 -- rounded once
    if beta ~= 0 then copy(tCgC, sums) end
    axpby(alpha, tCrC, beta, sums)
    copy(cast(sums, f16), tCgC)
  end)
end

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 4096 or 256))
local N = tonumber(arg[2] or (on_gpu and 4096 or 256))
local K = tonumber(arg[3] or (on_gpu and 4096 or 256))
if M % (2 * bM) ~= 0 or N % bN ~= 0 or K % bK ~= 0 then
  error(("M, N, K = %d, %d, %d; whole clusters of tiles take multiples of %d, %d, %d"):format(M, N,
    K, 2 * bM, bN, bK), 0)
end

local function run(name)
  local v = variants[name]
  local A, B, C = randn(f16, v.order{M, K}), randn(f16, v.order{N, K}), zeros(f16, {M, N})
  local grid = {M // bM, N // bN}
  local launch = make_gemm(v):prepare{grid = grid, block = mma.threads, cluster = {2, 1, 1}}(
    1.0, A, B, 0.0, C)
  -- Sums in f16 are rounded at each step; a tile that is missing would be off by 8.
  return beside_blas("wgmma_tma_sm90 " .. name, launch, A, B, C, {rtol = 0, atol = 0.04 * K ^ 0.5})
end

local all_ok = true
for _, name in ipairs(arg[4] and {arg[4]} or {"NT", "TN"}) do
  all_ok = run(name) and all_ok
end
os.exit(all_ok, true)
