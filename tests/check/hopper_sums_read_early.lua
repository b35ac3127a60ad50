-- Sums that are read while the last product is still under way.
local M, N, K = 256, 16, 192
local bM, bN, bK, stages = 128, 8, 64, 2
local mma = tiled_mma("SM90_64x8x16_F32BF16BF16_SS", {2, 1, 1})
local k_major = gmma_layout(bf16, "K", 128)
local gemm_ws = kernel("gemm_ws", function(A, B, C)
  local sA = shared(A.dtype, tile_to_shape(k_major, {bM, bK, stages}))
  local sB = shared(B.dtype, tile_to_shape(k_major, {bN, bK, stages}))
  local sC = shared(C.dtype, row_major{bM, bN})
  local full, empty = mbarrier(stages, 1), mbarrier(stages, 2)
  sync_threads()
  local gA = tile(tma_tensor(A), {bM, bK}, {_, _})
  local gB = tile(tma_tensor(B), {bN, bK}, {_, _})
  local gC = tile(tma_tensor(C), {64, bN}, {_, _})
  local tiles, k_tiles = {M // bM, N // bN}, size(gA, 3)
  if threadIdx.x < 128 then
    if threadIdx.x == 0 then
      local state = pipeline_state(stages, {parity = 1})
      for m, n in raster{tiles = tiles} do
        for k in range(k_tiles) do
          empty[state.slot]:wait(state.parity)
          full[state.slot]:arrive_expect_tx((bM + bN) * bK * 2)
          tma_load(gA(_, _, m, k), sA(_, _, state.slot), full[state.slot]) -- finds: race: write of sA at (0,0,0), extent (128,64,2) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and read by wgmma by thread (128,0,0) at line 40 are not ordered; wgmma is done where its warps have come past a wgmma_wait: arrive behind that, and wait for it here
          tma_load(gB(_, _, n, k), sB(_, _, state.slot), full[state.slot]) -- finds: race: write of sB at (0,0,0), extent (8,64,2) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and read by wgmma by thread (128,0,0) at line 40 are not ordered; wgmma is done where its warps have come past a wgmma_wait: arrive behind that, and wait for it here
          state:advance()
        end
      end
    end
  else
    local thread = threadIdx.x - 128
    local group = thread // 128
    local thr = mma:get_slice(thread)
    local tCsA, tCsB, tCsC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(sC)
    local sum = thr:partition_fragment_C(sC)
    local state, before = pipeline_state(stages), 0
    for m, n in raster{tiles = tiles} do
      for k in range(k_tiles) do
        full[state.slot]:wait(state.parity)
        wgmma_fence()
        gemm(mma, tCsA(_, _, _, state.slot), tCsB(_, _, _, state.slot), sum, {accumulate = k > 0})
        wgmma_commit()
        wgmma_wait(1)
        if k > 0 and thread % 128 == 0 then empty[before]:arrive() end
        before = state.slot
        state:advance()
      end
      if thread % 128 == 0 then empty[before]:arrive() end
      if thread % 128 == 0 then tma_store_wait(0) end
      named_barrier(1 + group, 128):sync()
      copy(cast(sum, C.dtype), tCsC) -- finds: wgmma: read of sum at ((0,0,0),0,0), extent ((2,2,1),1,1), by thread (128,0,0) of block (0,0,0), before the product at line 40 that adds to it is complete; put wgmma_commit() and wgmma_wait(0) between line 40 and line 50, or wait for fewer pending groups
      fence_proxy_async()
      named_barrier(1 + group, 128):sync()
      if thread % 128 == 0 then
        tma_store(tile(sC, {64, bN}, {group, 0}), gC(_, _, 2 * m + group, n))
        tma_store_commit()
      end
    end
    if thread % 128 == 0 then tma_store_wait(0) end
  end
end)
local A, B = rand(bf16, row_major{M, K}), rand(bf16, row_major{N, K})
local C = zeros(bf16, row_major{M, N})
gemm_ws{grid = 2, block = 384}(A, B, C)
