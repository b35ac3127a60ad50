local k = kernel("axes", function(A)
  for i in axes(A, "N") do A[i] = 0.0 end -- expect error: axes: no mode is named 'N' in (M=32,K=8):(1,32); its modes are M, K
end)
k{grid = 1, block = 1}(zeros(f32, L"(M=32,K=8)"))
