local A, B = zeros(f32, {4, 5}), zeros(f32, {6, 5})
B:close()
matmul(A, B)  -- expect error: matmul: B is closed; its memory was given back
