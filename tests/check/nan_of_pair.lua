-- check: nan
-- Finite elements of which a pair of blocks makes infinities, in a row of the odd block's sums.
local mma = tiled_mma"SM100_MMA_F16BF16_2x1SM_SS<bf16,bf16,f32,256,32>"
local k = kernel("sums", function()
  local sA = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 32), {128, 16}))
  local sB = shared(bf16, tile_to_shape(gmma_layout(bf16, "K", 32), {16, 16}))
  local acc, thr, done = tmem(f32, {128, 32}), mma:get_slice(0), mbarrier(1, 1)
  for k in range(16) do
    sA[{threadIdx.x, k}] = 0
    if cluster_rank() == 1 and threadIdx.x == 9 then sA[{9, k}] = 1 end
    sB[{threadIdx.x % 16, k}] = 3e38
  end
  fence_proxy_async()
  sync_cluster()
  if threadIdx.x == 0 and cluster_rank() == 0 then
    gemm(mma, thr:partition_A(pair_tile(sA)), thr:partition_B(pair_tile(sB)), thr:partition_C(pair_tile(acc)), {accumulate = false}) -- finds: nan: finite operands give NaN or an infinity in acc at (9,0), extent (128,32), by thread (0,0,0) of block (0,0,0)
    tcgen05_commit(done, {multicast = 3})
  end
  done:wait(0)
  sync_cluster()
  tmem_dealloc(acc)
end, {static_shapes = true})
k{grid = 2, block = 128, cluster = 2}()
