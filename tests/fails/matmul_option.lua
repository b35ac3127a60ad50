local A = zeros(f32, {4, 5})
matmul(A, A, {aplha = 2.0})  -- expect error: matmul: option 'aplha' is unknown; did you mean 'alpha'?
