-- As Triton and Numba launch.
local softmax = kernel("softmax", function(x) x[0] = 1 end)
softmax[8](zeros(f32, 1)) -- expect error: softmax: a kernel is launched by softmax{grid = ..., block = ...}(...)
