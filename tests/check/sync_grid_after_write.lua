-- After the barrier two blocks write the same element: the barrier is too early.
local k = kernel("halo", function(x)
  local b = blockIdx.x
  sync_grid()
  x[b * 32 + threadIdx.x] = b
  if b > 0 and threadIdx.x == 0 then x[b * 32 - 1] = 100 + b end -- finds: race: write of x at 31, extent 128, by thread (0,0,0) of block (1,0,0), and write by thread (31,0,0) of block (0,0,0) at line 5 are not ordered; put sync_grid() between them, or use atomic operations or a flag with fence()
  sync_grid()
end)
k{grid = 4, block = 32, cooperative = true}(zeros(i32, 128))
