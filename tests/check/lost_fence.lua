-- Blocks hand on a sum through a flag, but the writer's fence is missing.
local k = kernel("chain", function(flag, sum)
  local b = blockIdx.x
  if threadIdx.x == 0 then
    local before = 0
    if b > 0 then
      while atomic_load(flag, b - 1) == 0 do end
      before = sum[b - 1] -- finds: race: read of sum at 0, extent 4, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at line 10 are not ordered; blocks run in any order: use atomic operations, a flag with fence(), or another launch
    end
    sum[b] = before + 1
    atomic_add(flag, b, 1)
  end
end)
k{grid = 4, block = 32}(zeros(i32, 4), zeros(i32, 4))
