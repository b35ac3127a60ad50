-- Each block counts itself, and the last one reads the counter by a plain read.
local k = kernel("count", function(n, total)
  if threadIdx.x == 0 then
    atomic_add(n, 0, 1)
    if blockIdx.x == gridDim.x - 1 then total[0] = n[0] end -- finds: race: read of n at 0, extent 1, by thread (0,0,0) of block (3,0,0), and write by thread (0,0,0) of block (0,0,0) at line 4 are not ordered; blocks run in any order: use atomic operations, a flag with fence(), or another launch
  end
end)
k{grid = 4, block = 32}(zeros(i32, 1), zeros(i32, 1))
