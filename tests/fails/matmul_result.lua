matmul(zeros(f32, {4, 5}), zeros(f32, {6, 5}), zeros(f32, {6, 4}))  -- expect error: matmul: C is (6,4); expected (4,6), as A is (4,5) and B is (6,5)
