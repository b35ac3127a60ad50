-- check: nan
-- 70000 is too large for f16.
local k = kernel("narrow", function(x, y)
  y[threadIdx.x] = cast(x[threadIdx.x], f16) -- finds: nan: a finite number is too large for the narrower type, and becomes an infinity or NaN, by thread (1,0,0) of block (0,0,0); scale it, or clamp it to the range of the type
end)
k{grid = 1, block = 2}(from_table(f32, {1, 70000}), zeros(f16, 2))
