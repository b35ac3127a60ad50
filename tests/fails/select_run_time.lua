-- Which argument select gives is known while tracing.
local k = kernel("refused", function(x)
  x[0] = select(threadIdx.x, 1.0, 2.0) -- expect error: select of a run-time value; which argument it is must be known while tracing: write where(c, a, b), or 'c and a or b'
end)
k{grid = 1, block = 32}(zeros(f32, 32))
