local k = kernel("inside", function(A, C)
  matmul(A, A, C)  -- expect error: matmul: A is a tensor of a kernel; matmul launches kernels itself. Inside of one, multiply tiles by gemm
end)
k{grid = 1, block = 1}(zeros(f32, {4, 5}), zeros(f32, {4, 4}))
