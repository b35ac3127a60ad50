-- Also where a text is asked for, which Lua would make with tostring.
local k = kernel("refused", function(x)
  x[0] = #("thread %s"):format(threadIdx.x) -- expect error: string.format of a run-time value; a text is made while tracing; use printf, which shows values when the kernel runs
end)
k{grid = 1, block = 32}(zeros(f32, 32))
