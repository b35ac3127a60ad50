-- Sums are kept in the type that computes.
local k = kernel("gemm", function(x, y)
  gemm(tile(x, 4, 0), tile(x, 4, 0), tile(y, 4, 0)) -- expect error: gemm: y is f16, which sums are not kept in; expected f32
end)
k{grid = 1, block = 1}(zeros(f16, 4), zeros(f16, 4))
