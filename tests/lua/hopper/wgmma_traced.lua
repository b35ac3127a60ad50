-- trace follows an element of C to the row and the column that wgmma reads for it.
-- needs sm_90a
local function traced(name)
  local mma = tiled_mma(name, { 2, 1, 1 })
  local k = kernel("traced", function(A, B, C)
    local sA = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), { 128, 32 }))
    local sB = shared(f16, tile_to_shape(gmma_layout(f16, "MN", 32), { 16, 32 }))
    local thr = mma:get_slice(threadIdx.x)
    copy(parallelize(A, { 128, 2 }, threadIdx.x), parallelize(sA, { 128, 2 }, threadIdx.x))
    copy(parallelize(B, { 16, 16 }, threadIdx.x), parallelize(sB, { 16, 16 }, threadIdx.x))
    fence_proxy_async()
    sync_threads()
    local rC, rA = thr:partition_fragment_C(C), thr:partition_A(sA)
    if name:find "_RS" then
      rA = thr:partition_fragment_A(A)
      copy(thr:partition_A(A), rA)
    end
    wgmma_fence()
    gemm(mma, rA, thr:partition_B(sB), rC, { accumulate = false })
    wgmma_commit()
    wgmma_wait(0)
    copy(rC, thr:partition_C(C))
  end, { static_shapes = true })
  local A, B, C = rand(f16, { 128, 32 }), rand(f16, { 16, 32 }), zeros(f32, { 128, 16 })
  local t = trace(k { grid = 1, block = 256 }, { C = { 83, 11 } }, A, B, C)
  for text in tostring(t):gmatch "%f[%w][AB]%(%d[^%s,]*,[^%s,]*" do print(text) end
end

traced "SM90_64x16x16_F32F16F16_SS"
-- expect: A(83,0..31)
-- expect: B(11,0..31)
traced "SM90_64x8x16_F32F16F16_RS"
-- expect: B(11,0..31)
-- expect: A(83,0..31)
