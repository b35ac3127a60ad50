-- Half of the block comes to the barrier, the other half ends: whole warps, which the hardware forgives.
local k = kernel("half", function(x)
  if threadIdx.x < 128 then
    sync_threads() -- finds: sync_threads: 128 threads of the block have ended without reaching it, the first: thread (128,0,0) of block (0,0,0); all must reach it: return after the last sync_threads, or let part of a block wait at a named_barrier
  end
  x[threadIdx.x] = 1
end)
k{grid = 1, block = 256}(zeros(f32, 256))
