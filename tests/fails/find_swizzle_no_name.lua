local k = kernel("fill", function(x)
  local s = shared(f32, 64)
  s[threadIdx.x] = 1
  x[threadIdx.x] = s[threadIdx.x]
end)
find_swizzle(k{grid = 1, block = 32}, zeros(f32, 32))  -- expect error: find_swizzle: the name of a shared tensor is wanted, as the kernel calls it: find_swizzle(k{grid = ..., block = ...}, "sA", A, B, C)
