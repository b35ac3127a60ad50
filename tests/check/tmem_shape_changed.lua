-- Products of two shapes add to the same sums, one after the other.
local k = kernel("tmem_shape_changed", function(x, y)
  local s = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 32), {128, 16}))
  local acc, done = tmem(f32, {128, 64}), mbarrier(1, 1)
  for k in range(16) do s[{threadIdx.x, k}] = x[{threadIdx.x, k}] end
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    local wide = tiled_mma("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,64>"):get_slice(0)
    local half = tiled_mma("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,32>"):get_slice(0)
    local sB = tile(s, {64, 16}, {0, 0})
    gemm(wide, wide:partition_A(s), wide:partition_B(sB), wide:partition_C(acc),
      {accumulate = false})
    gemm(half, half:partition_A(s), half:partition_B(sB), half:partition_C(acc)) -- finds: race: write of acc at (0,0), extent (128,64) by tcgen05.mma, by thread (0,0,0) of block (0,0,0), and write by tcgen05.mma by thread (0,0,0) at line 12 are not ordered; only products of one thread that add to sums of one shape, by one kind, follow each other: wait before line 14 for a phase of an mbarrier at which a tcgen05_commit() after line 12 arrived, then call tcgen05_after_thread_sync()
    tcgen05_commit(done)
  end
  done:wait(0)
  tcgen05_after_thread_sync()
  local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b64x", acc):get_slice(threadIdx.x)
  local r = fragment_like(ld:partition_S(acc))
  copy(ld, ld:partition_S(acc), r)
  copy(r, ld:partition_D(tile(y, {128, 64}, {0, 0})))
  sync_threads()
  tmem_dealloc(acc)
end)
k{grid = 1, block = 128}(rand(bf16, row_major{128, 16}), zeros(f32, row_major{128, 64}))
