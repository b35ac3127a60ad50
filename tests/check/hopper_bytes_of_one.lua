-- A phase that is over when half of its bytes have come.
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
          empty[state.slot]:wait(state.parity) -- finds: deadlock in block (0,0,0): warp 0 waits at line 21 for empty[0], parity 1: 2 arrivals are missing; warps 4 to 11 wait at line 38 for full[0], parity 1: 2048 bytes have come that no arrive_expect_tx has counted
          full[state.slot]:arrive_expect_tx(bM * bK * 2)
          tma_load(gA(_, _, m, k), sA(_, _, state.slot), full[state.slot])
          tma_load(gB(_, _, n, k), sB(_, _, state.slot), full[state.slot]) -- finds: race: write of sB at (0,0,0), extent (8,64,2) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and write by a copy to an mbarrier by thread (0,0,0) at the same line are not ordered; who waits for that phase of its mbarrier sees what it copies
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
    local state = pipeline_state(stages)
    for m, n in raster{tiles = tiles} do
      for k in range(k_tiles) do
        full[state.slot]:wait(state.parity)
        wgmma_fence()
        gemm(mma, tCsA(_, _, _, state.slot), tCsB(_, _, _, state.slot), sum, {accumulate = k > 0}) -- finds: race: read of sB at (0,0,0), extent (8,64,2) by wgmma, by thread (128,0,0) of block (0,0,0), and write by a copy to an mbarrier by thread (0,0,0) at line 24 are not ordered; who waits for that phase of its mbarrier sees what it copies
        wgmma_commit()
        wgmma_wait(0)
        if thread % 128 == 0 then empty[state.slot]:arrive() end
        state:advance()
      end
      if thread % 128 == 0 then tma_store_wait(0) end
      named_barrier(1 + group, 128):sync()
      copy(cast(sum, C.dtype), tCsC)
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
