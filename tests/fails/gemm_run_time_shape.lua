-- A gemm of whole arguments: a thread needs static shapes.
local k = kernel("whole", function(A, B, C)
  gemm(A, B, C) -- expect error: gemm: A (8,4):(1,8) has a dynamic shape; tile it first
end)
k{grid = 1, block = 1}(zeros(f32, {8, 4}), zeros(f32, {8, 4}), zeros(f32, {8, 8}))
