-- An argument that is nil, as a misspelt field is.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
local data = {x = x, y = y}
saxpy{grid = 2, block = 32}(2.0, data.X, data.y) -- expect error: saxpy: argument 2 (x) is nil; a tensor, a number or a boolean was expected
