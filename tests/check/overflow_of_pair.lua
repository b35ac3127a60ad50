-- check: overflow
-- The same by a pair of blocks: the sum that does not fit is the odd block's.
local mma = tiled_mma"SM100_MMA_S8_2x1SM_SS<i8,i8,i32,256,32>"
local k = kernel("sums", function(C)
  local sA = shared(i8, tile_to_shape(gmma_layout(i8, "K", 32), {128, 32}))
  local sB = shared(i8, tile_to_shape(gmma_layout(i8, "K", 32), {16, 32}))
  local acc, thr, done = tmem(i32, {128, 32}), mma:get_slice(0), mbarrier(1, 1)
  for k in range(32) do
    sA[{threadIdx.x, k}] = 100
    sB[{threadIdx.x % 16, k}] = 100
  end
  fence_proxy_async()
  sync_cluster()
  local st = tmem_copy("SM100_TMEM_STORE_32dp32b32x", acc):get_slice(threadIdx.x)
  local r = fragment_like(st:partition_D(acc))
  copy(st:partition_S(tile(C, {128, 32}, {cluster_rank(), 0})), r)
  copy(st, r, st:partition_D(acc))
  tcgen05_before_thread_sync()
  sync_cluster()
  if threadIdx.x == 0 and cluster_rank() == 0 then
    tcgen05_after_thread_sync()
    gemm(mma, thr:partition_A(pair_tile(sA)), thr:partition_B(pair_tile(sB)), thr:partition_C(pair_tile(acc))) -- finds: overflow: the sum 2147483648 does not fit in i32 and became -2147483648 in acc at (72,3), extent (128,32), by thread (0,0,0) of block (0,0,0); add up in i64, or u32 if it is to wrap around
    tcgen05_commit(done, {multicast = 3})
  end
  done:wait(0)
  sync_cluster()
  tmem_dealloc(acc)
end, {static_shapes = true})
local C = zeros(i32, row_major{256, 32})
C[{200, 3}] = 2147483647 - 319999
k{grid = 2, block = 128, cluster = 2}(C)
