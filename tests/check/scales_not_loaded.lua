-- The scales of B are never loaded into their fragment.
local mma = tiled_mma "SM120_16x8x32_TN_VS<f8e4m3,f8e4m3,f32,f8ue8m0,32>"
local k = kernel("scaled", function(A, SFA, B, SFB, C)
  local thr = mma:get_slice(threadIdx.x)
  local rA, rSFA = thr:partition_fragment_A(A), thr:partition_fragment_SFA(SFA)
  local rB, rSFB = thr:partition_fragment_B(B), thr:partition_fragment_SFB(SFB)
  local rC = thr:partition_fragment_C(C)
  copy(thr:partition_A(A), rA)
  copy(thr:partition_SFA(SFA), rSFA)
  copy(thr:partition_B(B), rB)
  clear(rC)
  gemm(mma, { rA, rSFA }, { rB, rSFB }, rC) -- finds: uninitialised: read of rSFB at (0,0,0), extent (1,1,1), by thread (0,0,0) of block (0,0,0): the thread has not written it; clear or fill the fragment first
  copy(rC, thr:partition_C(C))
end, { static_shapes = true })
k { grid = 1, block = 32 } (zeros(f8e4m3, row_major { 16, 32 }), zeros(f8ue8m0, { 16, 1 }),
  zeros(f8e4m3, row_major { 8, 32 }), zeros(f8ue8m0, { 8, 1 }), zeros(f32, { 16, 8 }))
