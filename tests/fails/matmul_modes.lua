matmul(zeros(f32, "((2,2),5):((1,20),2)"), zeros(f32, {6, 5}))  -- expect error: matmul: mode 0 of A, ((2,2),5):((1,20),2), has more than one stride; copy A into a tensor in which each mode has one
