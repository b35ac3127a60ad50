local A = zeros(i32, {4, 5})
matmul(A, A, {alpha = "2"})  -- expect error: matmul: alpha is of type string; expected a number
