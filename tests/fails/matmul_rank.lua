matmul(zeros(f32, 4), zeros(f32, {4, 5}))  -- expect error: matmul: A is 4:1; expected (M,K) or (M,K,L)
