-- The CPU engine names the thread that divides by zero.
local k = kernel("divide", function(n)
  local i = threadIdx.x
  n[i] = 100 // (i - 7) -- expect error: //: the divisor is 0, by thread (7,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(zeros(i32, 32))
