local k = kernel("sizes", function(A)
  local s = shared(f32, layout"(M=4,K=8)")
  copy(tile(A, {8, 8}, {0, 0}), s) -- expect error: copy: A (M=8,K=8):(1,32) and s (M=4,K=8):(1,4) have different sizes; the shapes must agree
end)
k{grid = 1, block = 1}(zeros(f32, L"(M=32,K=8)"))
