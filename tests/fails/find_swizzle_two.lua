local k = kernel("two", function(x)
  local s = shared(f32, {32, 32})
  local v = view(s, composition(swizzle(5, 0, 5), row_major{32, 32}))
  v[{threadIdx.x, 0}] = 1
  s[{threadIdx.x, 0}] = 1
end)
find_swizzle(k{grid = 1, block = 32}, "s", zeros(f32, 32))  -- expect error: find_swizzle: s is the memory of v, too, under another swizzle; only tensors that are seen under one can be searched
