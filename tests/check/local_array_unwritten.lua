-- A stack in a local array, of which one entry more is taken than was put there.
local k = kernel("stack", function(x, y, n)
  local stack = local_array(f32, 8)
  for i in range(n) do stack[i] = x[i] end
  local sum = f32(0)
  for i in range(n + 1) do sum = sum + stack[i] end -- finds: uninitialised: read of stack at 5, extent 8, by thread (0,0,0) of block (0,0,0): the thread has not written it; clear or fill the fragment first
  y[threadIdx.x] = sum
end)
k{grid = 1, block = 32}(rand(f32, 8), zeros(f32, 32), 5)
