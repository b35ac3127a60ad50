matmul(zeros(f32, {4, 5}), zeros(f32, {5, 6}))  -- expect error: matmul: A is (4,5) and B is (5,6); K, mode 1 of both, must be equal: B is (N,K), so a (K,N) matrix is passed as its transposed view
