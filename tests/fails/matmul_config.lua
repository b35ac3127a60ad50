local A = zeros(f32, {4, 5})
matmul(A, A, {config = "largest"})  -- expect error: matmul: there is no configuration 'largest'; for this problem there are 'cpu 128x128x32', 'cpu 64x64x32', 'cpu 32x32x8'
