-- A block of 64 threads over rows of 32: threads 32 to 63 read the next column.
local k = kernel("column", function(x, y)
  y[threadIdx.x] = x[{threadIdx.x, 1}] -- finds: coordinate: 32 in mode 0 of x, extent 32, by thread (32,0,0) of block (0,0,0); another element is accessed instead: stop at the extent, or guard the tensor
end)
k{grid = 1, block = 64}(rand(f32, {32, 4}), zeros(f32, 64))
