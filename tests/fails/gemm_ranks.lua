-- A vector beside a matrix.
local k = kernel("ranks", function(out)
  local rA, rB, rC = fragment(f32, {4, 2}), fragment(f32, {4}), fragment(f32, {4, 4})
  gemm(rA, rB, rC) -- expect error: gemm: A, B and C have ranks 2, 1 and 2; expected (M,K), (N,K), (M,N), or (M), (N), (M,N), or (V), (V), (V)
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f32, 1))
