matmul(zeros(f32, {4, 5}), zeros(f32, {6, 5}), zeros(i32, {4, 6}))  -- expect error: matmul: C is i32, but sums of f32 products are f32; expected a C of a float type
