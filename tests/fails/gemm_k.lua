-- Operands that differ in K.
local k = kernel("shapes", function(out)
  local rA, rB, rC = fragment(f32, {5, 3}), fragment(f32, {4, 2}), fragment(f32, {5, 4})
  gemm(rA, rB, rC) -- expect error: gemm: rA (5,3):(1,5) and rB (4,2):(1,4) differ in K, mode 1 of both
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f32, 1))
