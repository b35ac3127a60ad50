matmul(zeros(f32, {4, 5}), zeros(f16, {6, 5}))  -- expect error: matmul: A is f32 but B is f16; the element types must be equal
