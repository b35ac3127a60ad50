-- A tensor where the kernel wants a number: the kernel's line says what it did with it.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = threadIdx.x
  y[i] = a * x[i] + y[i] -- expect error: *: a number or boolean expected, got a tensor; write t[i] for an element of it
end)
local x, y = zeros(f32, 32), zeros(f32, 32)
saxpy{grid = 1, block = 32}(x, x, y)
