-- A tensor whose memory was given back.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
x:close()
saxpy{grid = 2, block = 32}(2.0, x, y) -- expect error: saxpy: argument 2 (x) is closed; its memory was given back
