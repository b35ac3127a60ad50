-- A thread layout that is not as large as the block.
local k = kernel("threads", function(A)
  local part = parallelize(A, layout{4, 4}, threadIdx.x) -- expect error: parallelize: thread layout (4,4):(1,4) has 16 threads but the block has 32; they must be as many, but for a part of the block that a run-time 'if' chooses, or an index such as threadIdx.x % 16
  clear(part)
end)
k{grid = 1, block = 32}(zeros(f32, {8, 8}))
