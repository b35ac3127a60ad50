-- Nor has a tensor that lies swizzled strides.
local k = kernel("k", function(x)
  local s = shared(f32, composition(swizzle(2, 0, 3), row_major { 8, 8 }))
  print(s.stride)  -- expect error: stride: s Sw<2,0,3> o 0 o (8,8):(8,1) is swizzled and has no strides; those of its layout are t.layout.layout.stride
  s[0] = x[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
