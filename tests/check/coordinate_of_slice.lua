-- The element before the first one of a column is the last one of the column before.
local k = kernel("before", function(x, y)
  local column = x(_, blockIdx.x + 1)
  y[{threadIdx.x, blockIdx.x}] = column[threadIdx.x] - column[threadIdx.x - 1] -- finds: coordinate: -1 of column, extent 32, by thread (0,0,0) of block (0,0,0); another element is accessed instead: stop at the extent, or guard the tensor
end)
k{grid = 2, block = 32}(rand(f32, {32, 4}), zeros(f32, {32, 2}))
