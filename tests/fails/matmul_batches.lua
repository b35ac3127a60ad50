matmul(zeros(f32, {4, 5, 2}), zeros(f32, {6, 5, 3}))  -- expect error: matmul: A is (4,5,2) and B is (6,5,3); the numbers of batches, mode 2, must be equal, or one of them 1
