-- Nothing becomes narrower by itself: a product of two f16 is an f32.
local k = kernel("square", function(x, y)
  y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x] -- expect error: store to y: f16 expected, got f32; use cast(x, f16)
end)
k{grid = 1, block = 32}(zeros(f16, 32), zeros(f16, 32))
