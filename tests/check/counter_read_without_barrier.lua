-- The last thread reads the counter as soon as it has counted itself.
local k = kernel("count", function(total)
  local n = shared(i32, 1)
  if threadIdx.x == 0 then n[0] = 0 end
  sync_threads()
  atomic_add(n, 0, 1)
  if threadIdx.x == blockDim.x - 1 then total[0] = n[0] end -- finds: race: read of n at 0, extent 1, by thread (63,0,0) of block (0,0,0), and write by thread (31,0,0) at line 6 are not ordered; put sync_threads() between line 6 and line 7
end)
k{grid = 1, block = 64}(zeros(i32, 1))
