local k = kernel("number", function(x)
  x[threadIdx.x] = ballot(threadIdx.x) -- expect error: ballot: bool expected, got i32; write x ~= 0
end)
k{grid = 1, block = 32}(zeros(i32, 32))
