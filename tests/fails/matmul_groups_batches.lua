local A, B = zeros(f32, {4, 5, 2}), zeros(f32, {3, 5, 2})
matmul(A, B, {groups = zeros(i32, 2)})  -- expect error: matmul: A is (4,5,2) and B is (3,5,2); with groups at most one of them has a third mode, a matrix for each group
