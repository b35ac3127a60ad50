-- Sums over the A in tensor memory that the product before may still read.
local k = kernel("tmem_a_overwritten", function(x)
  local s = shared(f32, tile_to_shape(gmma_layout(f32, "K", 32), {128, 8}))
  local acc, a, done = tmem(f32, {128, 16}), tmem(f32, {128, 16}), mbarrier(1, 1)
  for k in range(8) do s[{threadIdx.x, k}] = x[{threadIdx.x, k}] end
  sync_threads()
  local st = tmem_copy("SM100_TMEM_STORE_32dp32b8x", a):get_slice(threadIdx.x)
  local r = fragment_like(st:partition_D(a))
  clear(r)
  copy(st, r, st:partition_D(a))
  tcgen05_before_thread_sync()
  fence_proxy_async()
  sync_threads()
  if threadIdx.x == 0 then
    tcgen05_after_thread_sync()
    local b = tile(s, {16, 8}, {0, 0})
    local ts = tiled_mma("SM100_MMA_TF32_TS<tf32,tf32,f32,128,16>"):get_slice(0)
    local ss = tiled_mma("SM100_MMA_TF32_SS<tf32,tf32,f32,128,16>"):get_slice(0)
    local rA, new = ts:partition_A(tile(a, {128, 8}, {0, 0})), {accumulate = false}
    gemm(ts, rA, ts:partition_B(b), ts:partition_C(acc), new)
    gemm(ss, ss:partition_A(s), ss:partition_B(b), ss:partition_C(a), new) -- finds: race: write of a at (0,0), extent (128,16) by tcgen05.mma, by thread (0,0,0) of block (0,0,0), and read by tcgen05.mma by thread (0,0,0) at line 20 are not ordered; only products of one thread that add to sums of one shape, by one kind, follow each other: wait before line 21 for a phase of an mbarrier at which a tcgen05_commit() after line 20 arrived, then call tcgen05_after_thread_sync()
    tcgen05_commit(done)
  end
  done:wait(0)
  sync_threads()
  tmem_dealloc(acc)
  tmem_dealloc(a)
end)
k{grid = 1, block = 128}(rand(f32, row_major{128, 8}))
