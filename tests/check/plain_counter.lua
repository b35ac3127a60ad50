-- All threads of all blocks add to one element without an atomic operation.
local k = kernel("count", function(n)
  n[0] = n[0] + 1 -- finds: race: write of n at 0, extent 1, by thread (0,0,0) of block (1,0,0), and read by thread (63,0,0) of block (0,0,0) at the same line are not ordered; blocks run in any order: use atomic operations, a flag with fence(), or another launch
end)
k{grid = 2, block = 64}(zeros(i32, 1))
