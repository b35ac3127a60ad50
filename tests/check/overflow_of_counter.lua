-- check: overflow
-- A counter of 32 bits that all threads add large numbers to.
local k = kernel("count", function(x, total)
  atomic_add(total, 0, x[threadIdx.x]) -- finds: overflow: 2000000000 + 1000000000 does not fit in i32 and became -1294967296 in total at 0, extent 1, by thread (2,0,0) of block (0,0,0); give it elements of i64, or u32 if they are to wrap around
end)
k{grid = 1, block = 4}(full(i32, 4, 1000000000), zeros(i32, 1))
