-- A misspelt option of a launch.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  y[i] = a * x[i] + y[i]
end)
local x, y = zeros(f32, 64), zeros(f32, 64)
saxpy{grid = 2, blocks = 32}(2.0, x, y) -- expect error: saxpy: launch option 'blocks' is unknown; expected grid, block, cluster, smem, stream, pdl or check
