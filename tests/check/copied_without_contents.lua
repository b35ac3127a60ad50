-- An asynchronous copy of memory that nobody has written.
local k = kernel("copied", function(x, y)
  local s = shared(f32, 64)
  copy(tile(x, 1, threadIdx.x), tile(s, 1, threadIdx.x)) -- finds: uninitialised: read of x at 0, extent 64, by thread (0,0,0) of block (0,0,0): nobody has written it since it was allocated; write it first, or allocate it with zeros
  cp_async_commit()
  cp_async_wait(0)
  y[threadIdx.x] = s[threadIdx.x]
end)
k{grid = 1, block = 64}(tensor(f32, 64), zeros(f32, 64))
k{grid = 1, block = 64}(rand(f32, 64), tensor(f32, 64)) -- this one is right
