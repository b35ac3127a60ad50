-- check: nan
-- The sums of a product fit in f32, and not in f16.
local k = kernel("product", function(x, y)
  local a, b, c = fragment(f32, {2, 2}), fragment(f32, {2, 2}), fragment(f32, {2, 2})
  fill(a, x[0])
  fill(b, x[1])
  clear(c)
  gemm(a, b, c)
  local narrow = cast(c, f16) -- finds: nan: a finite number is too large for the narrower type, and becomes an infinity or NaN in narrow at (0,(0)), extent (2,(2)), by thread (0,0,0) of block (0,0,0); scale it, or clamp it to the range of the type
  y[0] = narrow[0]
end)
k{grid = 1, block = 1}(full(f32, 2, 200), zeros(f16, {2, 2}))
