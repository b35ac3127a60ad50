local A, B = zeros(f32, {4, 5}), zeros(f32, {3, 5, 2})
matmul(A, B, {groups = zeros(i32, 3)})  -- expect error: matmul: B is (3,5,2), but there are 3 groups; its mode 2 must have a matrix for each
