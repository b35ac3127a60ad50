local k = kernel("distance", function(x)
  x[threadIdx.x] = shfl_down(threadIdx.x, 32) -- expect error: shfl_down: distance 32 is out of range; 0 to 31 were expected
end)
k{grid = 1, block = 32}(zeros(i32, 32))
