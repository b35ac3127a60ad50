local A = zeros(f32, {4, 5})
matmul(A, A, {operands = {zeros(f32, 4)}})  -- expect error: matmul: operands are those of an epilogue, of which there is none; give {epilogue = function(v, m, n, l, ...) ... end}
