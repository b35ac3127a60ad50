-- Lanes of a warp run in step: the one that has the lock waits for the others at the end of the loop.
local k = kernel("lock", function(t)
  while atomic_cas(t, 0, 0, 1) ~= 0 do end -- expect error: deadlock: thread (1,0,0) of block (0,0,0) repeats the loop at line 3, and nothing that runs can end it; thread (0,0,0) of its warp waits for it, as lanes of a warp run in step: none can wait for another, so let one lane of each warp take a lock, as in 'if threadIdx.x % 32 == 0'
  atomic_store(t, 0, 0)
end)
k{grid = 1, block = 32}(zeros(i32, 4))
