-- gemm converts nothing.
local k = kernel("types", function(out)
  local rA, rB, rC = fragment(f32, {4, 2}), fragment(f32, {4, 2}), fragment(f64, {4, 4})
  gemm(rA, rB, rC) -- expect error: gemm: rA is f32 but rC is f64; the element types must be equal
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f64, 1))
