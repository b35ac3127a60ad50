local k = kernel("k", function(x)
  local s = shared(f32, "Sw<2,0,3> o 0 o (8,8):(8,1)")
  x[0] = view(s, composition(swizzle(1, 0, 3), row_major { 4, 8 }))[0]  -- expect error: view: s is swizzled already; a plain layout keeps its swizzle
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
