-- check: overflow
-- The product of two tiles of i32, added up in i32.
local k = kernel("product", function(x, y)
  local a, b, c = fragment(i32, {1, 4}), fragment(i32, {1, 4}), fragment(i32, {1, 1})
  fill(a, x[0])
  fill(b, x[1])
  fill(c, 0)
  gemm(a, b, c) -- finds: overflow: the sum 4000000000 does not fit in i32 and became -294967296 in c at (0,0), extent (1,1), by thread (0,0,0) of block (0,0,0); add up in i64, or u32 if it is to wrap around
  y[threadIdx.x] = c[0]
end)
local x = zeros(i32, 2)
x[0], x[1] = 100000, 10000
k{grid = 1, block = 32}(x, zeros(i32, 32))
