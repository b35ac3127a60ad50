-- Text of values that are known at run time is printf's.
local k = kernel("text", function(x)
  x[0] = #string.format("%d", threadIdx.x) -- expect error: bad argument #2 to 'string.format' (number expected, got run-time value)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
