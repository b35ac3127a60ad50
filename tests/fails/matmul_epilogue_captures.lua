local A, x = zeros(f32, {4, 5}), zeros(f32, 4)
local function add(v, m) return v + x[m] end  -- expect error: x[?]: a tensor of the host is not at hand inside a kernel; pass it as an argument
matmul(A, A, {epilogue = add})
