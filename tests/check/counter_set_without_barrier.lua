-- One thread sets the counter, and all count, with no barrier between.
local k = kernel("count", function(total)
  local n = shared(i32, 1)
  if threadIdx.x == 0 then n[0] = 0 end
  atomic_add(n, 0, 1) -- finds: race: write of n at 0, extent 1, by thread (32,0,0) of block (0,0,0), and write by thread (0,0,0) at line 4 are not ordered; put sync_threads() between line 4 and line 5
  sync_threads()
  if threadIdx.x == 0 then total[0] = n[0] end
end)
k{grid = 1, block = 64}(zeros(i32, 1))
