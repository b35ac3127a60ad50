local A, B = zeros(f16, {64, 64}), zeros(f16, {64, 64})
matmul(A, B, {groups = full(i32, 2, 64), config = "hopper 256x128x64"})  -- expect error: matmul: configuration 'hopper 256x128x64' is not for this problem: f16, NT, K = 64, on cpu; TMA clips nothing where a group of K ends
