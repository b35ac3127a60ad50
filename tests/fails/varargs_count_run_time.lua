-- How many arguments there are, and which one is chosen, is known while tracing.
local k = kernel("unpacks", function(x)
  x[0] = table.unpack({1.0, 2.0}, threadIdx.x) -- expect error: bad argument #2 to 'table.unpack' (number expected, got run-time value)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
