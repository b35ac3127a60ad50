local A = zeros(i32, {4, 5})
matmul(A, A, {alpha = 0.5})  -- expect error: matmul: alpha is 0.5, but the sums and C are integers (i32); expected an integer, or a C of a float type
