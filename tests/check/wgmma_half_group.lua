-- Two warps of a warp group issue a product without the others.
local mma = tiled_mma("SM90_64x8x16_F32F16F16_SS", {1, 1, 1})
local k = kernel("k", function(C)
  local s = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {64, 16}))
  local b = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {8, 16}))
  local thr = mma:get_slice(threadIdx.x)
  local c = fragment(f32, mma:partition_shape_C{64, 8})
  if threadIdx.x == 0 then
    fill(s, 1)
    fill(b, 1)
  end
  fence_proxy_async()
  sync_threads()
  clear(c)
  if threadIdx.x < 64 then
    wgmma_fence()
    gemm(mma, thr:partition_A(s), thr:partition_B(b), c) -- finds: wgmma: warp 0 has issued 1 product, warp 2 of its warp group none; all four warps issue each product together, so let whole groups of 128 threads reach it
    wgmma_commit()
  end
  wgmma_wait(0)
  copy(c, thr:partition_C(C))
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
