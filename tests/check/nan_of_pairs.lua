-- check: nan
-- The second half of a product of pairs is too large.
local k = kernel("pairs", function(x, y)
  local w = f16x2(1.0, x[threadIdx.x])
  y[threadIdx.x] = f16x2.mul(w, w) -- finds: nan: finite operands give NaN or an infinity, by thread (26,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(arange(f32, 32, 230), zeros(u32, 32))
