matmul(3, zeros(f32, {4, 5}))  -- expect error: matmul: A is of type number; a tensor (M,K) or (M,K,L) was expected
