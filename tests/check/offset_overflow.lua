-- The product does not fit in 32 bits; modulo 2^32 it is 0 and lies in the tensor.
local k = kernel("rows", function(x, y, pitch)
  y[threadIdx.x] = x[threadIdx.x * pitch * 4] -- finds: overflow: read of x at 0, extent 64, by thread (1,0,0) of block (0,0,0): its offset is 4294967296, which does not fit in 32 bits and became 0; make one of its factors an i64, as in i64(n) or cast(i, i64)
end)
k{grid = 1, block = 4}(rand(f32, 64), zeros(f32, 4), 1 << 30)
