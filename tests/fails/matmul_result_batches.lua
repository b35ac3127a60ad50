matmul(zeros(f32, {4, 5, 3}), zeros(f32, {6, 5}), zeros(f32, {4, 6}))  -- expect error: matmul: C is (4,6); expected (4,6,3), as A is (4,5,3) and B is (6,5)
