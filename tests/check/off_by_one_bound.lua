-- `<=` where `<` was meant: the access outside is left out, the launch goes on.
local k = kernel("shift", function(x, y)
  local i = blockIdx.x * 32 + threadIdx.x
  if i <= size(x) then
    y[i] = x[i] + 1 -- finds: out of bounds: read of x at 100, extent 100, by thread (4,0,0) of block (3,0,0) -- finds: out of bounds: write of y at 100, extent 100, by thread (4,0,0) of block (3,0,0)
  end
end)
k{grid = 4, block = 32}(rand(f32, 100), zeros(f32, 100))
