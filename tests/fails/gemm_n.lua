-- Operands that differ in N.
local k = kernel("shapes", function(out)
  local rA, rB, rC = fragment(f32, {5, 3}), fragment(f32, {8, 3}), fragment(f32, {5, 4})
  gemm(rA, rB, rC) -- expect error: gemm: rB (8,3):(1,8) and rC (5,4):(1,5) differ in N, mode 0 of B and mode 1 of C
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f32, 1))
