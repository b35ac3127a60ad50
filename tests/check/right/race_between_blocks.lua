-- All blocks add to the same elements by atomic operations.
local k = kernel("partials", function(x, y)
  atomic_add(y, threadIdx.x, x[blockIdx.x * 32 + threadIdx.x])
end)
k{grid = 4, block = 32}(arange(f32, 128), zeros(f32, 32))
