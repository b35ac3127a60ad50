local k = kernel("fill", function(x)
  local s = shared(f32, 64)
  if blockIdx.x == 1 then s[threadIdx.x] = 1 end
end)
find_swizzle(k{grid = 2, block = 32}, "s", zeros(f32, 32))  -- expect error: find_swizzle: nothing accessed s in the first block, which ran; run more by {blocks = n}
