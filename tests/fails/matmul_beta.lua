local A = zeros(f32, {4, 5})
matmul(A, A, {beta = 1.0})  -- expect error: matmul: beta is 1.0, but there is no C to be added; give a tensor (M,N)
