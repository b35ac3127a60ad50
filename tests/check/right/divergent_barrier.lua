-- All threads of a block reach the barrier.
local k = kernel("some", function(x)
  if threadIdx.x < 16 then
    x[threadIdx.x + 16 * blockIdx.x] = 1
  end
  sync_threads()
end)
k{grid = 2, block = 32}(zeros(f32, 32))
