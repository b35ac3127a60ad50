local k = kernel("threads", function(A)
  clear(parallelize(A, layout{8, 4}, threadIdx.x)) -- expect error: parallelize: extent 30 of mode 1 (K) of A is not a multiple of the thread layout's 4; pad the tensor or write guard(A)
end)
k{grid = 1, block = 32}(zeros(f32, L"(M=32,K=30):(1,32)"))
