-- The first and the third tensor of the list are one: two blocks write it.
local x, y = zeros(f32, 40), zeros(f32, 40)
local k = kernel("k", function(l)
  local t = l[blockIdx.x + 1]
  t[threadIdx.x] = blockIdx.x * 1.0 -- finds: race: write of l[1] at 0, extent 40, by thread (0,0,0) of block (2,0,0), and write by thread (0,0,0) of block (0,0,0) at the same line are not ordered; blocks run in any order: use atomic operations, a flag with fence(), or another launch
end)
k{grid = 3, block = 32}({x, y, x})
