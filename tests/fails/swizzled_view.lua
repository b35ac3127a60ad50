-- A layout that was not made from the tensor's own cannot take its place.
local k = kernel("k", function(x)
  local s = shared(f32, { 8, 8 })
  local w = composition(s, swizzle(2, 0, 3))  -- expect error: composition: ...
  x[0] = w[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
