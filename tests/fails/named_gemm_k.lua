-- Named modes through tile and parallelize in the error of a gemm: the parts of the two operands
-- say what they are parts of.
local thr = layout{8, 4}
local k = kernel("product", function(A, B)
  local gA = tile(A, {32, 8}, {blockIdx.x, 0})
  local gB = tile(B, {16, 4}, {blockIdx.y, 0})
  local sA, sB = shared(f32, layout"(M=32,K=8)"), shared(f32, layout"(N=16,K=4)")
  local rC = fragment(f32, layout"(M=4,N=4)")
  copy(gA, sA)
  copy(gB, sB)
  local tA = parallelize(sA, thr, threadIdx.x, {1, _})
  local tB = parallelize(sB, thr, threadIdx.x, {_, 1})
  gemm(tA, tB, rC) -- expect error: gemm: tA (M=4,K=8):(8,32) and tB (N=4,K=4):(4,16) differ in K, mode 1 of both
end)
k{grid = {2, 2}, block = 32}(zeros(f32, L"(M=64,K=32)"), zeros(f32, L"(N=32,K=32)"))
