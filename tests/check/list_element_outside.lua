-- The grid is made for the largest tensor; the other one is smaller.
local k = kernel("k", function(l)
  local t = l[blockIdx.y + 1]
  t[blockIdx.x * 32 + threadIdx.x] = 1.0 -- finds: out of bounds: write of l[2] at 40, extent 40, by thread (8,0,0) of block (1,1,0)
end)
k{grid = {2, 2}, block = 32}({zeros(f32, 64), zeros(f32, 40)})
