-- The scales of both operands are in fragments of their own.
local mma = tiled_mma "SM120_16x8x32_TN_VS<f8e4m3,f8e4m3,f32,f8ue8m0,32>"
local k = kernel("scaled", function(A, SFA, B, SFB, C)
  local thr = mma:get_slice(threadIdx.x)
  local rA, rSFA = thr:partition_fragment_A(A), thr:partition_fragment_SFA(SFA)
  local rB, rSFB = thr:partition_fragment_B(B), thr:partition_fragment_SFB(SFB)
  local rC = thr:partition_fragment_C(C)
  copy(thr:partition_A(A), rA)
  copy(thr:partition_SFA(SFA), rSFA)
  copy(thr:partition_B(B), rB)
  copy(thr:partition_SFB(SFB), rSFB)
  clear(rC)
  gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
  copy(rC, thr:partition_C(C))
end, { static_shapes = true })
k { grid = 1, block = 32 } (zeros(f8e4m3, row_major { 16, 32 }), zeros(f8ue8m0, { 16, 1 }),
  zeros(f8e4m3, row_major { 8, 32 }), zeros(f8ue8m0, { 8, 1 }), zeros(f32, { 16, 8 }))
