local A, B = zeros(f32, {4, 5}), zeros(f32, {6, 5})
matmul(A, B, {bias = zeros(f32, 4)})  -- expect error: matmul: bias is 4; expected (6), one number for each n, or (4,6), as C is (4,6)
