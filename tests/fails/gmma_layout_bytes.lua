-- The swizzles are of 128, 64 and 32 bytes, or none.
local k = kernel("group", function(C)
  shared(f16, gmma_layout(f16, "K", 256)) -- expect error: gmma_layout: the swizzle is of 256 bytes; 128, 64, 32 or 0 (none) was expected
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
