-- A slice of a swizzled tensor has a shape, as any other.
local k = kernel("k", function(x)
  local s = shared(f32, composition(swizzle(2, 0, 3), row_major { 8, 8 }))
  x[0] = s(_, 0)[64]  -- expect error: s[64]: coordinate 64 is outside the shape (8)
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
