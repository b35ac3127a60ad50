local k = kernel("k", function(A)
  local r = fragment(f32, 4)
  copy(atom"SM80_16x8x16_F32F16F16F32_TN", tile(A, 4, 0), r) -- expect error: copy: argument 1 is an atom; a tiled copy, or an atom of copies, was expected
end)
k{grid = 1, block = 1}(zeros(f32, 4))
