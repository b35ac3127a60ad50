local A, B = zeros(f32, {4, 6}), zeros(f32, {3, 6, 2})
matmul(A, B, {groups = zeros(i32, 2), split = 2})  -- expect error: matmul: split is 2, but there are groups; only K of a single product is split
