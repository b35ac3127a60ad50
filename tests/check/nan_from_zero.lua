-- check: nan
-- 0 / 0 in one element; with --nan only.
local k = kernel("normalise", function(x, y)
  local v = x[threadIdx.x]
  y[threadIdx.x] = v / v -- finds: nan: finite operands give NaN or an infinity, by thread (0,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(arange(f32, 32), zeros(f32, 32))
