-- The length of a text is known while tracing.
local k = kernel("refused", function(x)
  printf((" "):rep(threadIdx.x)) -- expect error: string.rep of a run-time value; a text is made while tracing; use printf, which shows values when the kernel runs
  x[0] = 1.0
end)
k{grid = 1, block = 32}(zeros(f32, 32))
