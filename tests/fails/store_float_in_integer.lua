-- A float constant that is no integer, stored in integers.
local k = kernel("whole", function(n)
  n[threadIdx.x] = 0.5 -- expect error: store to n: i32 expected, got 0.5
end)
k{grid = 1, block = 32}(zeros(i32, 32))
