-- trace runs a launch on copies, also of the tensors in tables.
local put = kernel("put", function(o, y)
  local x = o.l[blockIdx.x + 1]
  x[threadIdx.x] = x[threadIdx.x] + 1
  y[threadIdx.x] = x[threadIdx.x]
end)
local traced, y = {l = {zeros(f32, 4)}}, zeros(f32, 4)
local rows = trace(put{grid = 1, block = 4}, {y = {2}}, traced, y).rows
print(#rows > 2, traced.l[1][2], y[2])          -- expect: true	0.0	0.0
