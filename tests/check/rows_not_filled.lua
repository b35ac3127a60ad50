-- The host fills all rows but the last, and a kernel reads all.
local k = kernel("last_column", function(x, y)
  y[threadIdx.x] = x[{threadIdx.x, 3}] -- finds: uninitialised: read of x at (7,3), extent (8,4), by thread (7,0,0) of block (0,0,0): nobody has written it since it was allocated; write it first, or allocate it with zeros
end)
local x = tensor(f32, {8, 4})
for i = 0, 6 do
  for j = 0, 3 do x[{i, j}] = i + j end
end
k{grid = 1, block = 8}(x, tensor(f32, 8))
