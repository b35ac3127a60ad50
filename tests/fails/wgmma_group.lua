-- One warp of the warp group leaves the product to the others.
local mma = tiled_mma("SM90_64x8x16_F32F16F16_SS", {1, 1, 1})
local k = kernel("k", function(x)
  local s = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {64, 16}))
  local b = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {8, 16}))
  local thr = mma:get_slice(threadIdx.x)
  local c = fragment(f32, mma:partition_shape_C{64, 8})
  fill(c, 0)
  sync_threads()
  if threadIdx.x < 96 then
    gemm(mma, thr:partition_A(s), thr:partition_B(b), c)
    wgmma_commit()
    wgmma_wait(0) -- expect error: deadlock in block (0,0,0): warps 0 to 2 wait at line 13 for a product of the warp group, which its other warps have not come to; warp 3 waits in sync_threads at line 15
  end
  sync_threads()
  x[0] = c[0]
end)
k{grid = 1, block = 128}(zeros(f32, 1))
