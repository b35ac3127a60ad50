-- check: overflow
-- A product of bytes in tensor memory: of two sums next to the largest i32, one passes it.
local mma = tiled_mma"SM100_MMA_S8_SS<i8,i8,i32,128,32>"
local k = kernel("sums", function(C)
  local s = shared(i8, tile_to_shape(gmma_layout(i8, "K", 32), {128, 32}))
  local acc, thr, done = tmem(i32, {128, 32}), mma:get_slice(0), mbarrier(1, 1)
  for k in range(32) do s[{threadIdx.x, k}] = 100 end
  fence_proxy_async()
  sync_threads()
  local st = tmem_copy("SM100_TMEM_STORE_32dp32b32x", acc):get_slice(threadIdx.x)
  local r = fragment_like(st:partition_D(acc))
  copy(st:partition_S(C), r)
  copy(st, r, st:partition_D(acc))
  tcgen05_before_thread_sync()
  sync_threads()
  if threadIdx.x == 0 then
    tcgen05_after_thread_sync()
    gemm(mma, thr:partition_A(s), thr:partition_B(tile(s, {32, 32}, {0, 0})), thr:partition_C(acc)) -- finds: overflow: the sum 2147483648 does not fit in i32 and became -2147483648 in acc at (70,3), extent (128,32), by thread (0,0,0) of block (0,0,0); add up in i64, or u32 if it is to wrap around
    tcgen05_commit(done)
  end
  done:wait(0)
  sync_threads()
  tmem_dealloc(acc)
end, {static_shapes = true})
local C = zeros(i32, row_major{128, 32})
C[{70, 3}] = 2147483647 - 319999
C[{71, 4}] = 2147483647 - 320000
k{grid = 1, block = 128}(C)
