-- Two warps wait at two barriers.
local k = kernel("two", function(x)
  if threadIdx.x < 32 then
    sync_threads() -- finds: sync_threads: thread (0,0,0) of block (0,0,0) waits at line 4, thread (32,0,0) at line 6; all threads of a block must reach the same sync_threads
  else
    sync_threads()
  end
  x[threadIdx.x] = 1
end)
k{grid = 1, block = 64}(zeros(f32, 64))
