local A, B = zeros(f32, {4, 5}), zeros(f32, {3, 5, 2})
matmul(A, B, {groups = zeros(i64, 2)})  -- expect error: matmul: groups is i64 2:1; expected i32 (G), where each group ends
