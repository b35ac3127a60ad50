-- The counter is never set to 0.
local k = kernel("count", function(x, count)
  if x[blockIdx.x * 32 + threadIdx.x] > 0.5 then
    atomic_add(count, 0, 1) -- finds: uninitialised: read of count at 0, extent 1, by thread (0,0,0) of block (0,0,0): nobody has written it since it was allocated; write it first, or allocate it with zeros
  end
end)
k{grid = 2, block = 32}(full(f32, 64, 1), tensor(i32, 1))
k{grid = 2, block = 32}(full(f32, 64, 1), zeros(i32, 1)) -- this one is right
