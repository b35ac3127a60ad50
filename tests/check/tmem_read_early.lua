-- The warp that multiplies takes the sums before they are there; the others wait.
local k = kernel("tmem_read_early", function(x, y)
  local s = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 32), {128, 16}))
  local acc, done = tmem(f32, {128, 64}), mbarrier(1, 1)
  for k in range(16) do s[{threadIdx.x, k}] = x[{threadIdx.x, k}] end
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    local thr = tiled_mma("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,64>"):get_slice(0)
    gemm(thr, thr:partition_A(s), thr:partition_B(tile(s, {64, 16}, {0, 0})),
      thr:partition_C(acc), {accumulate = false})
    tcgen05_commit(done)
  end
  if threadIdx.x >= 32 then done:wait(0) end
  tcgen05_after_thread_sync()
  local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b64x", acc):get_slice(threadIdx.x)
  local r = fragment_like(ld:partition_S(acc))
  copy(ld, ld:partition_S(acc), r) -- finds: race: read of acc at (0,0), extent (128,64) by a copy of tensor memory, by thread (0,0,0) of block (0,0,0), and write by tcgen05.mma by thread (0,0,0) at line 10 are not ordered; a product is complete once a phase of an mbarrier is over at which a later tcgen05_commit() arrived: wait for that before line 18, then call tcgen05_after_thread_sync()
  copy(r, ld:partition_D(tile(y, {128, 64}, {0, 0})))
  if threadIdx.x < 32 then done:wait(0) end
  sync_threads()
  tmem_dealloc(acc)
end)
k{grid = 1, block = 128}(rand(bf16, row_major{128, 16}), zeros(f32, row_major{128, 64}))
