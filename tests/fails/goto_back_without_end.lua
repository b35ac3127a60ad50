-- A loop made of goto is unrolled, and this one has no static end.
local k = kernel("refused", function(x)
  ::again::
  x[0] = x[0] + 1.0
  goto again -- expect error: this loop was unrolled 20000 times while tracing; use 'for i in range(a, b)' for a loop in the kernel
end)
k{grid = 1, block = 32}(zeros(f32, 32))
