-- A shuffle that only some lanes of a warp reach.
local k = kernel("some", function(x, n)
  if threadIdx.x < n then
    x[threadIdx.x] = shfl_xor(threadIdx.x, 1) -- expect error: shfl_xor: thread (0,0,0) of block (0,0,0) waits at line 4, but thread (5,0,0) is past line 3; all threads of a warp must reach the same shfl_xor
  end
end)
k{grid = 1, block = 32}(zeros(i32, 32), 5)
