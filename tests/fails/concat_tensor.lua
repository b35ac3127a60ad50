-- Text of the elements of a tensor.
local k = kernel("refused", function(x)
  x[0] = #table.concat(x, " ") -- expect error: table.concat of a tensor; a text is made while tracing; use printf, which shows values when the kernel runs
end)
k{grid = 1, block = 32}(zeros(f32, 32))
