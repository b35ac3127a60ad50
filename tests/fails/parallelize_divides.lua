-- Threads that do not divide an extent.
local k = kernel("ragged", function(A)
  clear(parallelize(A, layout{8, 4}, threadIdx.x)) -- expect error: parallelize: extent 30 of mode 1 of A is not a multiple of the thread layout's 4; pad the tensor or write guard(A)
end)
k{grid = 1, block = 32}(zeros(f32, {64, 30}))
