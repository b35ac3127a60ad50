-- An argument that no kernel takes.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x = zeros(f32, 64)
saxpy{grid = 2, block = 32}(2.0, x, {1, 2, 3}) -- expect error: saxpy: argument 3 (y) is a table; a tensor, a number or a boolean was expected; from_table(f32, t) makes a tensor
