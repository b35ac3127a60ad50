-- A kernel called as a function.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy(2.0, x, y) -- expect error: saxpy: a number in place of a launch configuration; write saxpy{grid = ..., block = ...}(...)
