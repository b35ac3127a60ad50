local A = zeros(f32, {4, 5})
matmul(A, A, zeros(f32, {4, 4}), 2.0)  -- expect error: matmul: the options are of type number; expected a table such as {alpha = 2.0, beta = 1.0}
