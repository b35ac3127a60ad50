local k = kernel("k", function(x)
  local s = shared(f32, 40)
  x[0] = view(s, composition(swizzle(2, 2, 3), row_major { 3, 12 }))[0]  -- expect error: view: Sw<2,2,3> o 0 o (3,12):(12,1) needs 48 elements; s has 40
end)
k { grid = 1, block = 32 }(ones(f32, { 64 }))
