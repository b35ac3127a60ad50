-- Elements of 4 bits are words of 8 of them.
local mma = tiled_mma("SM80_8x8x32_S32S4S4S32_TN")
local k = kernel("words", function(out)
  local rA, rC = fragment(i8, {1, 1, 1}), fragment(i32, {2, 1, 1})
  gemm(mma, rA, rA, rC) -- expect error: gemm: A (rA) is i8 but SM80_8x8x32_S32S4S4S32_TN takes words of 8 i4; expected a tensor of u32
  out[0] = rC[0]
end)
k{grid = 1, block = 32}(zeros(i32, 1))
