-- The range of threadIdx.x ends this recursion, after more than a million calls.
local function fib(n) -- expect error: the kernel has more than 262144 operations by here; use 'for i in range(a, b)' for a loop in the kernel, and let recursion end on a static value
  if n < 2 then return 1 end
  return fib(n - 1) + fib(n - 2)
end
local k = kernel("fibonacci", function(t) t[0] = fib(threadIdx.x) end)
k{grid = 1, block = 32}(zeros(i32, 1))
