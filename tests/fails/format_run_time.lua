-- Text of values that are known at run time is printf's.
local k = kernel("refused", function(x)
  x[0] = #string.format("%d", threadIdx.x) -- expect error: string.format of a run-time value; a text is made while tracing; use printf, which shows values when the kernel runs
end)
k{grid = 1, block = 32}(zeros(f32, 32))
