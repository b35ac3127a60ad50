-- blackwell_gemm.lua: C = A * B' in bf16 with tensor memory. TMA brings tiles of A and B into a
-- ring of stages. One thread multiplies them by tcgen05 into tensor memory, 128 x 256 at a time.
-- Four warps take each tile from there through registers, while the next one is multiplied.
-- Usage: cuttle blackwell_gemm.lua [M N K]
-- needs sm_100a
-- Nothing here has run on a GPU: docs/blackwell.md says what was checked, and how.
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK, stages, epilogue = 128, 256, 64, 4, 128
local n_blocks = 148                               -- as many as a B200 has SMs

local mma = tiled_mma("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,256>")
local k_major = gmma_layout(bf16, "K", 128)        -- 8 rows of 128 bytes, swizzled

local blackwell_gemm = kernel("blackwell_gemm", function(A, B, C)
  local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))      -- (BLK_M,BLK_K,PIPE)
  local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))      -- (BLK_N,BLK_K,PIPE)
  local acc = tmem(f32, {bM, bN, 2})                                     -- (BLK_M,BLK_N,ACC)
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 1)
  local done, free = mbarrier(2, 1), mbarrier(2, epilogue)               -- of the accumulators
  local bytes = (bM + bN) * bK * bf16.bytes
  sync_threads()

  local gA = tile(tma_tensor(A), {bM, bK}, {_, _})                       -- (BLK_M,BLK_K,m,k)
  local gB = tile(tma_tensor(B), {bN, bK}, {_, _})                       -- (BLK_N,BLK_K,n,k)
  local gC = tile(C, {bM, bN}, {_, _})                                   -- (BLK_M,BLK_N,m,n)
  local k_tiles = cdiv(size(A, 1), bK)
  local walk = {tiles = {cdiv(size(A, 0), bM), cdiv(size(B, 0), bN)}, order = "groups", group = 16}

  if threadIdx.x == epilogue then                  -- the producer: one thread
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
  elseif threadIdx.x == epilogue + 32 then         -- the thread that multiplies
    local thr = mma:get_slice(0)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)          -- (V,M,K,PIPE)
    local tCtC = thr:partition_C(acc)                                    -- (V,M,N,ACC)
    local state, out = pipeline_state(stages), pipeline_state(2, {parity = 1})
    for m, n in raster(walk) do -- luacheck: ignore 213
      free[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      for k in range(k_tiles) do
        local slot = state.slot
        full[slot]:wait(state.parity)
        gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCtC(_, _, _, out.slot),
             {accumulate = k > 0})
        tcgen05_commit(empty[slot])
        state:advance()
      end
      tcgen05_commit(done[out.slot])
      out:advance()
    end
  elseif threadIdx.x < epilogue then               -- four warps: 32 lanes, so 32 rows, each
    local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b32x", acc):get_slice(threadIdx.x)
    local tDtC, tDgC = ld:partition_S(acc), ld:partition_D(gC)           -- (V,M,N,...)
    local tDrC = fragment_like(tDtC(_, 0, 0, 0))
    local out = pipeline_state(2)
    for m, n in raster(walk) do
      done[out.slot]:wait(out.parity)
      tcgen05_after_thread_sync()
      for j in range(bN // 32) do                    -- 32 columns at a time
        copy(ld, tDtC(_, 0, j, out.slot), tDrC)
        copy(cast(tDrC, bf16), tDgC(_, 0, j, m, n))
      end
      tcgen05_before_thread_sync()
      free[out.slot]:arrive()
      out:advance()
    end
  end
  sync_threads()
  tmem_dealloc(acc)
end)

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 8192 or 512))
local N = tonumber(arg[2] or (on_gpu and 8192 or 512))
local K = tonumber(arg[3] or (on_gpu and 8192 or 256))
local A, B = randn(bf16, row_major{M, K}), randn(bf16, row_major{N, K})
local C = zeros(bf16, row_major{M, N})
local tiles = cdiv(M, bM) * cdiv(N, bN)
local launch = blackwell_gemm:prepare{grid = min(tiles, n_blocks), block = epilogue + 64}(A, B, C)
local ok = beside_blas("blackwell_gemm", launch, A, B, C, {rtol = 1.6e-2, atol = 1e-2})
os.exit(ok, true)
