-- An f64 argument narrows nothing by itself.
local scale = kernel("scale", function(a, x)
  x[threadIdx.x] = a * x[threadIdx.x] -- expect error: store to x: f32 expected, got f64; use cast(x, f32)
end)
scale{grid = 1, block = 32}(f64(2), zeros(f32, 32))
