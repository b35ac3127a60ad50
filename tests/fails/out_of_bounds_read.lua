-- A read before the beginning.
local k = kernel("before", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i % 32 ~= 1 then
    y[i] = x[i - 3] -- expect error: out of bounds: read of x at -3, extent 64, by thread (0,0,0) of block (0,0,0)
  end
end)
k{grid = 1, block = 64}(zeros(f32, 64), zeros(f32, 64))
