local k = kernel("fill", function(x)
  local s = shared(f32, 64)
  s[threadIdx.x] = 1
  x[threadIdx.x] = s[threadIdx.x]
end)
find_swizzle(k{grid = 1, block = 32}, "sA", zeros(f32, 32))  -- expect error: find_swizzle: the kernel has no shared tensor 'sA'; it has s
