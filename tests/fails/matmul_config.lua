local A = zeros(f32, {4, 5})
matmul(A, A, {config = "largest"})  -- expect error: matmul: there is no configuration 'largest'; for this problem there are 'cpu 64x64x16', 'cpu 32x32x8'
