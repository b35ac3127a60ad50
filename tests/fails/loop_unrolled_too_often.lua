-- A loop over Lua numbers runs while tracing.
local k = kernel("unrolled", function(x)
  for i = 0, 99999 do -- expect error: this loop was unrolled 20000 times while tracing; use 'for i in range(a, b)' for a loop in the kernel
    x[0] = x[0] + i
  end
end)
k{grid = 1, block = 1}(zeros(f32, 1))
