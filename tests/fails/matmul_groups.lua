local A, B = zeros(f32, {4, 5}), zeros(f32, {3, 5, 2})
matmul(A, B, {groups = {2, 4}})  -- expect error: matmul: groups is of type table; expected a tensor of i32 that says where each group ends, on the device of C
