-- An atomic operation is checked as any access is.
local k = kernel("outside", function(t)
  atomic_add(t, threadIdx.x, 1) -- expect error: out of bounds: write of t at 4, extent 4, by thread (4,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(zeros(i32, 4))
