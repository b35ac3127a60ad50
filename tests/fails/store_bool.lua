-- A comparison stored as a number.
local k = kernel("flags", function(x)
  x[threadIdx.x] = threadIdx.x < 3 -- expect error: store to x: f32 expected, got bool; write where(c, 1, 0)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
