local k = kernel("k", function(x)
  local s = shared(f16, composition(swizzle(2, 0, 3), row_major { 8, 8 }))
  atomic_add(s, 0, 1, 2)  -- expect error: atomic_add: the swizzle of s keeps no two elements together; choose one with a larger M, or add them one by one
  x[0] = s[0]
end)
k { grid = 1, block = 32 }(ones(f16, { 64 }))
