-- An integer is divided by an element that is 0.
local k = kernel("shares", function(x, n)
  x[threadIdx.x] = 100 // n[threadIdx.x] -- finds: //: the divisor is 0, by thread (0,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(zeros(i32, 32), arange(i32, 32))
