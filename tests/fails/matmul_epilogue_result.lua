local A = rand(f32, {4, 5})
matmul(A, A, nil, {epilogue = function() end})  -- expect error: matmul: the epilogue returns nothing; expected the number that is stored in C
