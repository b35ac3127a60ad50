-- Complex numbers, which no tensor has.
local k = kernel("complex", function(out)
  local r = fragment(f64, {1, 1, 1})
  gemm(atom"SM80_8x8x4_C64C64C64C64_TN", r, r, r) -- expect error: gemm: SM80_8x8x4_C64C64C64C64_TN multiplies complex numbers, which no tensor has; multiply real and imaginary parts by the atom of f64 of that shape
  out[0] = r[0]
end)
k{grid = 1, block = 32}(zeros(f64, 1))
