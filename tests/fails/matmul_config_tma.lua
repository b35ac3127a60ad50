local A, B = zeros(f16, row_major{8, 25}), zeros(f16, row_major{40, 25})
matmul(A, B, zeros(f16, row_major{8, 40}), {config = "hopper 256x128x64, 4 stages"})  -- expect error: matmul: configuration 'hopper 256x128x64, 4 stages' is not for this problem: f16, TN, K = 25, on cpu; TMA wants strides that are multiples of 16 bytes, and B's along N is 25 elements
