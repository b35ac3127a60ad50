-- The second product waits for the first, which is of another kind.
local k = kernel("tmem_kind_changed", function(x, y)
  local s = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 32), {128, 16}))
  local acc, done = tmem(f32, {128, 64}), mbarrier(2, 1)
  local s8 = shared(f8e4m3, tile_to_shape(gmma_layout(f8e4m3, "K", 32), {128, 32}))
  for k in range(16) do s[{threadIdx.x, k}] = x[{threadIdx.x, k}] end
  for k in range(32) do s8[{threadIdx.x, k}] = 1 end
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    local wide = tiled_mma("SM100_MMA_F16BF16_SS<bf16,bf16,f32,128,64>"):get_slice(0)
    local f8 = tiled_mma("SM100_MMA_F8F6F4_SS<f8e4m3,f8e4m3,f32,128,64>"):get_slice(0)
    local sB, sB8 = tile(s, {64, 16}, {0, 0}), tile(s8, {64, 32}, {0, 0})
    gemm(wide, wide:partition_A(s), wide:partition_B(sB), wide:partition_C(acc),
      {accumulate = false})
    tcgen05_commit(done[0])
    done[0]:wait(0)
    tcgen05_after_thread_sync()
    gemm(f8, f8:partition_A(s8), f8:partition_B(sB8), f8:partition_C(acc))
    tcgen05_commit(done[1])
  end
  done[1]:wait(0)
  tcgen05_after_thread_sync()
  local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b64x", acc):get_slice(threadIdx.x)
  local r = fragment_like(ld:partition_S(acc))
  copy(ld, ld:partition_S(acc), r)
  copy(r, ld:partition_D(tile(y, {128, 64}, {0, 0})))
  sync_threads()
  tmem_dealloc(acc)
end)
k{grid = 1, block = 128}(rand(bf16, row_major{128, 16}), zeros(f32, row_major{128, 64}))
