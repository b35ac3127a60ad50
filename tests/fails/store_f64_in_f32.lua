-- No silent narrowing.
local k = kernel("narrow", function(x, d)
  x[threadIdx.x] = d[threadIdx.x] * 0.5 -- expect error: store to x: f32 expected, got f64; use cast(x, f32)
end)
k{grid = 1, block = 32}(zeros(f32, 32), zeros(f64, 32))
