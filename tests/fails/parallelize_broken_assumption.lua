-- A thread layout that divided at the first launch.
local k = kernel("threads", function(A)
  clear(parallelize(A, layout{3, 2}, threadIdx.x)) -- expect error: parallelize: extent 70 of mode 0 of A is not a multiple of the thread layout's 3; pad the tensor or write guard(A)
end)
k{grid = 1, block = 6}(zeros(f32, {66, 6}))
k{grid = 1, block = 6}(zeros(f32, {70, 6}))
