-- A barrier that half of a warp reaches.
local k = kernel("some", function(x)
  if threadIdx.x < 16 then
    x[threadIdx.x] = 1
    sync_threads() -- finds: sync_threads: thread (0,0,0) of block (0,0,0) waits at line 5, but thread (16,0,0) is past line 3; all threads of a block must reach the same sync_threads
  end
end)
k{grid = 2, block = 32}(zeros(f32, 32))
