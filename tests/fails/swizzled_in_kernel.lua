local k = kernel("k", function(x)
  local s = shared(f32, L"Sw<2,0,3> o 0 o (8,8):(8,1)")  -- expect error: shared: Sw<2,0,3> o 0 o (8,8):(8,1) is swizzled...
  s[0] = x[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
