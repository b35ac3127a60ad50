-- A barrier that only some threads reach.
local k = kernel("some", function(n)
  if threadIdx.x < n then
    sync_threads() -- expect error: sync_threads: thread (0,0,0) of block (0,0,0) waits at line 4, but thread (5,0,0) is past line 3; all threads of a block must reach the same sync_threads
  end
end)
k{grid = 1, block = 32}(5)
