-- check: nan
-- The sum of all threads is too large for f16.
local k = kernel("sum", function(x, total)
  atomic_add(total, 0, x[threadIdx.x]) -- finds: nan: finite operands give NaN or an infinity in total at 0, extent 2, by thread (0,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(full(f16, 32, 4000), zeros(f16, 2))
