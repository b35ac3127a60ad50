-- wgmma_sm90.lua: CuTe's tutorial of that name: C = alpha * A * B' + beta * C in f16 with sums in
-- f16, by one warp group. cp.async fills three tiles in shared memory, and wgmma multiplies them
-- there. NT: A and B are contiguous along M and N; TN: along K.
-- Usage: cuttle wgmma_sm90.lua [M N K] [NT|TN]
-- needs sm_90a
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK, bP = 128, 128, 64, 3

local mma = tiled_mma("SM90_64x64x16_F16F16F16_SS")
local by_16_bytes = atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", f16)

-- Order of the operands, of what wgmma reads in shared memory, and how they come there.
local variants = {
  NT = {order = col_major, smem = gmma_layout(f16, "MN", 128),
        g2s = tiled_copy(by_16_bytes, layout{16, 8}, layout{8, 1})},
  TN = {order = row_major, smem = gmma_layout(f16, "K", 128),
        g2s = tiled_copy(by_16_bytes, row_major{16, 8}, layout{1, 8})},
}

local function make_gemm(v)
  local g2s = v.g2s
  return kernel("wgmma_sm90", function(alpha, A, B, beta, C)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})                 -- (BLK_M,BLK_K,k)
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})                 -- (BLK_N,BLK_K,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})        -- (BLK_M,BLK_N)
    local sA = shared(f16, tile_to_shape(v.smem, {bM, bK, bP}))   -- (BLK_M,BLK_K,PIPE)
    local sB = shared(f16, tile_to_shape(v.smem, {bN, bK, bP}))   -- (BLK_N,BLK_K,PIPE)

    local thr_g2s = g2s:get_slice(threadIdx.x)
    local tAgA, tAsA = thr_g2s:partition_S(gA), thr_g2s:partition_D(sA) -- (CPY,CPY_M,CPY_K,k|PIPE)
    local tBgB, tBsB = thr_g2s:partition_S(gB), thr_g2s:partition_D(sB) -- (CPY,CPY_N,CPY_K,k|PIPE)

    local thr = mma:get_slice(threadIdx.x)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)   -- (MMA,MMA_M|N,MMA_K,PIPE)
    local tCgC = thr:partition_C(gC)                              -- (MMA,MMA_M,MMA_N)
    local tCrC = thr:fragment_C(tCgC)
    clear(tCrC)

    -- All tiles of the pipeline but one are on their way.
    local k_tiles, pipes = size(tAgA, 3), size(tAsA, 3)
    for pipe = 0, pipes - 2 do
      copy(g2s, tAgA(_, _, _, min(pipe, k_tiles - 1)), tAsA(_, _, _, pipe))
      copy(g2s, tBgB(_, _, _, min(pipe, k_tiles - 1)), tBsB(_, _, _, pipe))
      cp_async_commit()
    end

    local read, write = 0, pipes - 1                      -- stages to multiply, to fill
    for k_tile in range(k_tiles) do
      cp_async_wait(pipes - 2)
      fence_proxy_async()                                 -- what cp.async wrote is for wgmma to see
      sync_threads()
      local tile_next = min(k_tile + pipes - 1, k_tiles - 1)
      copy(g2s, tAgA(_, _, _, tile_next), tAsA(_, _, _, write))
      copy(g2s, tBgB(_, _, _, tile_next), tBsB(_, _, _, write))
      cp_async_commit()

      wgmma_fence()
      gemm(mma, tCsA(_, _, _, read), tCsB(_, _, _, read), tCrC)
      wgmma_commit()
      wgmma_wait(0)
      read = where(read == pipes - 1, 0, read + 1)
      write = where(write == pipes - 1, 0, write + 1)
    end
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

local function run(name)
  local v = variants[name]
  local A, B, C = randn(f16, v.order{M, K}), randn(f16, v.order{N, K}), zeros(f16, {M, N})
  local launch = make_gemm(v):prepare{grid = cdiv({M, N}, {bM, bN}), block = mma.threads}(
    1.0, A, B, 0.0, C)
  -- Sums in f16 are rounded at each step; a tile that is missing would be off by 8.
  return beside_blas("wgmma_sm90 " .. name, launch, A, B, C, {rtol = 0, atol = 0.04 * K ^ 0.5})
end

local all_ok = true
for _, name in ipairs(arg[4] and {arg[4]} or {"NT", "TN"}) do
  all_ok = run(name) and all_ok
end
os.exit(all_ok, true)
