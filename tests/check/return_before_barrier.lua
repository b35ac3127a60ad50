-- Threads without an element return before a barrier that the others come to.
local k = kernel("early", function(x, y)
  local s = shared(f32, 64)
  if threadIdx.x >= size(x) then return end
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads() -- finds: sync_threads: 14 threads of the block have ended without reaching it, the first: thread (50,0,0) of block (0,0,0); all must reach it: return after the last sync_threads, or let part of a block wait at a named_barrier
  y[threadIdx.x] = s[size(x) - 1 - threadIdx.x]
end)
k{grid = 1, block = 64}(rand(f32, 50), zeros(f32, 50))
