-- Registers and global memory are not a cluster's.
local k = kernel("reach", function(x)
  local y = remote(x, 1) -- expect error: remote: x is not the block's own shared memory; write remote(s, rank) of a tensor made by shared
  y[0] = 1
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, 32))
