-- Likewise of an operation on a whole tensor.
local k = kernel("k", function(x, n)
  local s = shared(f32, composition(swizzle(2, 0, 3), row_major { 8, 8 }))
  copy(tile(x, 4, 0), tile(s, { 1, 4 }, { n, 1 }))  -- expect error: out of bounds: write of s at (9,4), extent (8,8), by thread (0,0,0) of block (0,0,0)
  x[0] = s[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }), 9)
