-- A consumer that gives its slot back before the product has read it.
local mma = tiled_mma("SM90_64x8x16_F32F16F16_SS")
local k = kernel("ring", function(A, B, C, k_tiles)
  local sA = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {64, 16}))
  local sB = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {8, 16}))
  local full, empty = mbarrier(1, 1), mbarrier(1, 128)
  sync_threads()
  local gA, gB = tile(tma_tensor(A), {64, 16}, {0, _}), tile(tma_tensor(B), {8, 16}, {0, _})
  if threadIdx.x < 128 then
    if threadIdx.x == 0 then
      local state = pipeline_state(1, {parity = 1})
      for i in range(k_tiles) do
        empty:wait(state.parity)
        full:arrive_expect_tx(2 * 16 * (64 + 8))
        tma_load(gA(_, _, i), sA, full) -- finds: race: write of sA at (0,0), extent (64,16) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and read by wgmma by thread (128,0,0) at line 27 are not ordered; wgmma is complete once its warps have passed a wgmma_wait: arrive after that, and wait for it here
        tma_load(gB(_, _, i), sB, full) -- finds: race: write of sB at (0,0), extent (8,16) by a copy to an mbarrier, by thread (0,0,0) of block (0,0,0), and read by wgmma by thread (128,0,0) at line 27 are not ordered; wgmma is complete once its warps have passed a wgmma_wait: arrive after that, and wait for it here
        state:advance()
      end
    end
  else
    local thr = mma:get_slice(threadIdx.x - 128)
    local rC = thr:partition_fragment_C(C)
    local state = pipeline_state(1)
    for i in range(k_tiles) do
      full:wait(state.parity)
      wgmma_fence()
      gemm(mma, thr:partition_A(sA), thr:partition_B(sB), rC, {accumulate = i > 0})
      wgmma_commit()
      empty:arrive()
      wgmma_wait(0)
      state:advance()
    end
    copy(rC, thr:partition_C(C))
  end
end, {static_shapes = true})
k{grid = 1, block = 256}(rand(f16, row_major{64, 48}), rand(f16, row_major{8, 48}),
  zeros(f32, {64, 8}), 3)
