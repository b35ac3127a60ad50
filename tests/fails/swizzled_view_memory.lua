-- A swizzle counts from the start of the memory.
local k = kernel("k", function(x)
  local s = shared(f32, 1024)
  local w = view(tile(s, 32, 3), composition(swizzle(2, 0, 3), row_major { 4, 8 }))
  local y = view(tile(s, 16, 3), composition(swizzle(2, 0, 3), row_major { 4, 8 }))  -- expect error: view: a swizzle counts from the start of the memory, and s does not begin at a multiple of 32 elements of it for certain
  x[0] = w[0] + y[0]
end)
k { grid = 1, block = 32 }(ones(f32, { 4 }))
