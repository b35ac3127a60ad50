local k = kernel("tensor", function(x)
  x[threadIdx.x] = shfl_down(x, 1) -- expect error: shfl_down: a number or boolean expected, got a tensor; write t[i] for an element of it
end)
k{grid = 1, block = 32}(zeros(i32, 32))
