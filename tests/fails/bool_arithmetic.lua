-- Counting with comparisons, as in C.
local k = kernel("count", function(n)
  n[threadIdx.x] = (threadIdx.x < 3) + 1 -- expect error: +: a bool beside a number; write where(c, 1, 0) for the bool
end)
k{grid = 1, block = 32}(zeros(i32, 32))
