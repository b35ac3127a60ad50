-- The sums are added to memory that nobody has written.
local n = 64
local k = kernel("add_to", function(x, y)
  local i = threadIdx.x
  y[i] = y[i] + x[i] -- finds: uninitialised: read of y at 0, extent 64, by thread (0,0,0) of block (0,0,0): nobody has written it since it was allocated; write it first, or allocate it with zeros
end)
k{grid = 1, block = n}(rand(f32, n), tensor(f32, n))
k{grid = 1, block = n}(rand(f32, n), zeros(f32, n)) -- this one is right
