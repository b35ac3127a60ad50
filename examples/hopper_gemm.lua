-- hopper_gemm.lua: C = A * B' in bf16 with the features of Hopper. TMA brings tiles of A and B into
-- a ring of three stages, two warp groups multiply them with wgmma, 64 x 256 each, and TMA stores
-- C while the next tile is multiplied. One warp group only loads, the others only multiply.
-- Usage: cuttle hopper_gemm.lua [M N K]
-- needs sm_90a
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK, stages, group_size = 128, 256, 64, 3, 128
local n_blocks = 128                               -- the tiles of one wave make a square

local mma = tiled_mma("SM90_64x256x16_F32BF16BF16_SS", {2, 1, 1})
local to_shared = tiled_copy_C(atom("SM90_U32x4_STSM_N", bf16), mma)
local k_major = gmma_layout(bf16, "K", 128)        -- 8 rows of 128 bytes, swizzled
local part_of_C = tile_to_shape(k_major, {64, bN}) -- of one warp group

local hopper_gemm = kernel("hopper_gemm", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))      -- (BLK_M,BLK_K,PIPE)
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))      -- (BLK_N,BLK_K,PIPE)
  local sC = shared(bf16, tile_to_shape(part_of_C, {bM, bN}))            -- (BLK_M,BLK_N)
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 2)
  local bytes = (bM + bN) * bK * bf16.bytes
  sync_threads()

  local gA = tile(tma_tensor(A), {bM, bK}, {_, _})                       -- (BLK_M,BLK_K,m,k)
  local gB = tile(tma_tensor(B), {bN, bK}, {_, _})                       -- (BLK_N,BLK_K,n,k)
  local gC = tile(tma_tensor(C), {64, bN}, {_, _})                       -- (64,BLK_N,2m,n)
  local k_tiles = cdiv(size(A, 1), bK)
  local walk = {tiles = {cdiv(size(A, 0), bM), cdiv(size(B, 0), bN)}, order = "groups", group = 16}

  if threadIdx.x < group_size then                 -- the producer: one thread of it
    setmaxnreg(40)
    if threadIdx.x == 0 then
      local state = pipeline_state(stages, {parity = 1})  -- all slots are empty at first
      for m, n in raster(walk) do
        for k in range(k_tiles) do
          local slot = state.slot
          empty[slot]:wait(state.parity)
          full[slot]:arrive_expect_tx(bytes)
          tma_load(gA(_, _, m, k), sA(_, _, slot), full[slot])
          tma_load(gB(_, _, n, k), sB(_, _, slot), full[slot])
          state:advance()
        end
      end
    end
  else                                             -- two consumers
    setmaxnreg(232)
    local i = threadIdx.x - group_size
    local group, is_first = shfl_idx(i // group_size, 0), i % group_size == 0
    local thr, copier = mma:get_slice(group * group_size), to_shared:get_slice(i)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)          -- (V,M,K,PIPE)
    local tCrC = fragment(f32, mma:partition_shape_C{bM, bN})
    local mine, stored = tile(sC, {64, bN}, {group, 0}), named_barrier(1 + group, group_size)
    local state = pipeline_state(stages)
    for m, n in raster(walk) do
      for k in range(k_tiles) do
        local slot = state.slot
        full[slot]:wait(state.parity)
        wgmma_fence()
        gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCrC, {accumulate = k > 0})
        wgmma_commit()
        wgmma_wait(0)
        if is_first then empty[slot]:arrive() end
        state:advance()
      end
      if is_first then tma_store_wait(0) end       -- the last tile has left shared memory
      stored:sync()
      copy(to_shared, copier:retile_S(cast(tCrC, bf16)), copier:partition_D(sC))
      fence_proxy_async()
      stored:sync()
      if is_first then
        tma_store(mine, gC(_, _, 2 * m + group, n))
        tma_store_commit()
      end
    end
    if is_first then tma_store_wait(0) end
  end
end)

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 8192 or 256))
local N = tonumber(arg[2] or (on_gpu and 8192 or 512))
local K = tonumber(arg[3] or (on_gpu and 8192 or 256))
local A, B = randn(bf16, row_major{M, K}), randn(bf16, row_major{N, K})
local C = zeros(bf16, row_major{M, N})
local tiles = cdiv(M, bM) * cdiv(N, bN)
local launch = hopper_gemm:prepare{grid = min(tiles, n_blocks), block = 3 * group_size}(A, B, C)
local ok = beside_blas("hopper_gemm", launch, A, B, C, {rtol = 1.6e-2, atol = 1e-2})
os.exit(ok, true)
