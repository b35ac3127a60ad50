-- The second of two elements is checked, too.
local k = kernel("pair", function(t)
  atomic_add(t, 2 * threadIdx.x, 1, 2) -- expect error: out of bounds: write of t at 7, extent 7, by thread (3,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(zeros(f16, 7))
