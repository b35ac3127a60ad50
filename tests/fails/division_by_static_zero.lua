-- A divisor that is zero whatever happens: Lua's own words, while tracing.
local k = kernel("divide", function(n, step)
  n[threadIdx.x] = threadIdx.x % (step - step) -- expect error: attempt to perform 'n%%0'
end)
k{grid = 1, block = 32}(zeros(i32, 32), 4)
