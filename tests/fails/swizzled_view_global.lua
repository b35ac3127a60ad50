local k = kernel("k", function(x)
  x[0] = view(x, composition(swizzle(1, 0, 3), row_major { 4, 8 }))[0]  -- expect error: view: Sw<1,0,3> o 0 o (4,8):(8,1) is swizzled, which only shared memory needs: other memory has no banks; give x a plain layout
end)
k { grid = 1, block = 32 }(ones(f32, { 64 }))
