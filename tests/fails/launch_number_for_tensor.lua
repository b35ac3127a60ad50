-- A number where the kernel wants a tensor.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = threadIdx.x
  y[i] = a * x[i] + y[i] -- expect error: attempt to index a run-time value (local 'x'); only tensors and tables have elements
end)
saxpy{grid = 1, block = 32}(2.0, 3.0, zeros(f32, 32))
