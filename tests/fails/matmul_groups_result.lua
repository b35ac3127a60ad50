local A, B = zeros(f32, {4, 5}), zeros(f32, {3, 5})
matmul(A, B, zeros(f32, {4, 3}), {groups = zeros(i32, 2)})  -- expect error: matmul: C is (4,3); expected (4,3,2), as A is (4,5) and B is (3,5)
