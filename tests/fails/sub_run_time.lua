-- A character of a text cannot be chosen at run time.
local k = kernel("refused", function(x)
  local digit = ("0123456789"):sub(threadIdx.x + 1, threadIdx.x + 1) -- expect error: string.sub of a run-time value; a text is made while tracing; use printf, which shows values when the kernel runs
  x[0] = #digit
end)
k{grid = 1, block = 32}(zeros(f32, 32))
