-- Recursion that ends on a run-time value does not end while tracing.
local function factorial(n) -- expect error: 'factorial' calls itself 150 levels deep while tracing; recursion must end on a static value, not on a run-time one
  if n < 2 then return 1 end
  return n * factorial(n - 1)
end
local k = kernel("factorials", function(t, n) t[0] = factorial(n) end)
k{grid = 1, block = 1}(zeros(i32, 1), 5)
