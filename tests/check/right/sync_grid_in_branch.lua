-- All blocks reach the barrier of the grid, also the one that has no work.
local k = kernel("phases", function(x, n)
  local b = blockIdx.x
  if b < n then
    x[b * 32 + threadIdx.x] = 1
  end
  sync_grid()
  if b < n then
    x[(b + 1) % n * 32 + threadIdx.x] = 2
  end
end)
k{grid = 8, block = 32, cooperative = true}(zeros(f32, 256), 7)
