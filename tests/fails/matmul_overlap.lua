local X = zeros(f32, {8, 8})
matmul(view(X, layout({4, 5}, {1, 8})), zeros(f32, {4, 5}), view(X, layout({4, 4}, {1, 8})))  -- expect error: matmul: C shares memory with A: blocks still read A when others write C; give C memory of its own
