-- A swizzle is for the banks of shared memory.
local k = kernel("k", function(x)
  local r = fragment(f32, L"Sw<2,0,3> o 0 o (8,8):(8,1)")  -- expect error: fragment: Sw<2,0,3> o 0 o (8,8):(8,1) is swizzled, which only shared memory needs: registers have no banks; give the layout below the swizzle
  r[0] = x[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
