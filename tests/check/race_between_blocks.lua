-- All blocks write the same elements.
local k = kernel("partials", function(x, y)
  y[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x] -- finds: race: write of y at 0, extent 32, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at the same line are not ordered; blocks run in any order: use atomic operations, a flag with fence(), or another launch
end)
k{grid = 4, block = 32}(arange(f32, 128), zeros(f32, 32))
