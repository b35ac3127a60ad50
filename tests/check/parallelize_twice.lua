-- Rows of a block of two modes share out the same tile: each element is written twice.
local k = kernel("rows", function(y)
  local part = parallelize(y, layout{4, 8}, threadIdx.x)
  part[0] = cast(threadIdx.y, f32) -- finds: race: write of y at (0,0), extent (4,8), by thread (0,1,0) of block (0,0,0), and write by thread (0,0,0) at the same line are not ordered; put sync_threads() between the two, or use an atomic operation
end)
k{grid = 1, block = {32, 2}}(zeros(f32, {4, 8}))
