-- Text of values that a table holds.
local k = kernel("refused", function(x)
  x[0] = #table.concat({"thread ", threadIdx.x}) -- expect error: table.concat of a table of run-time values; a text is made while tracing; use printf, which shows values when the kernel runs
end)
k{grid = 1, block = 32}(zeros(f32, 32))
