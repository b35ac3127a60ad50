local k = kernel("width", function(x)
  x[threadIdx.x] = shfl_up(threadIdx.x, 1, 12) -- expect error: shfl_up: width 12 is no power of two; expected 1, 2, 4, 8, 16 or 32
end)
k{grid = 1, block = 32}(zeros(i32, 32))
