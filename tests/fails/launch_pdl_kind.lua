-- The launch option pdl is true or false.
local k = kernel("sum", function(x) x[blockIdx.x] = 1 end)
k{grid = 2, block = 32, pdl = 1}(zeros(i32, 2)) -- expect error: sum: launch option pdl is a number; true or false was expected
