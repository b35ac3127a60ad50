local A = zeros(f32, {4, 5})
matmul(A, A, {epilogue = "relu"})  -- expect error: matmul: epilogue is of type string; expected a function (v, m, n, l, operands...) that returns the element of C
