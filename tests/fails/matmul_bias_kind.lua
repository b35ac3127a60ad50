local A, B = zeros(f32, {4, 5}), zeros(f32, {6, 5})
matmul(A, B, {bias = 2.0})  -- expect error: matmul: bias is of type number; expected a tensor (N) or (M,N)
