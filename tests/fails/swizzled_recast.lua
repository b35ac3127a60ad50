-- An element of 8 bytes needs two of 4 side by side, which Sw<2,0,3> does not keep so.
local k = kernel("k", function(x)
  local s = shared(f32, composition(swizzle(2, 0, 3), row_major { 8, 8 }))
  local d = recast(s, f64)  -- expect error: recast: s of f32 as f64: its swizzle moves the parts of a larger element apart; choose one with a larger M
  d[0] = x[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
