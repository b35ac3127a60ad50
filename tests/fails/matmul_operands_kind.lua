local A = zeros(f32, {4, 5})
matmul(A, A, {operands = 2, epilogue = function(v) return v end})  -- expect error: matmul: operands is of type number; expected a table of tensors and numbers, which the epilogue gets after (v, m, n, l)
