-- A without the mode of values.
local mma = tiled_mma("UniversalFMA<f32>", {4, 4})
local k = kernel("ranks", function(out)
  local rA, rB, rC = fragment(f32, {4, 2}), fragment(f32, {1, 4, 2}), fragment(f32, {1, 4, 4})
  gemm(mma, rA, rB, rC) -- expect error: gemm: A, B and C have ranks 2, 3 and 3; with UniversalFMA<f32> (V,M,K), (V,N,K), (V,M,N), or (V,M), (V,N), (V,M,N), or (V), (V), (V) were expected, as partition_A, _B and _C make them
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f32, 1))
