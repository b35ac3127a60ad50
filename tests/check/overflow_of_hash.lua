-- check: overflow
-- A hash is meant modulo 2^32: that is arithmetic of u32, as in the second kernel.
local signed = kernel("signed", function(x, h)
  h[threadIdx.x] = x[threadIdx.x] * 65599 -- finds: overflow: 32768 * 65599 does not fit in i32 and became -2145419264, by thread (1,0,0) of block (0,0,0); compute in i64, or u32 if it is to wrap around
end)
local unsigned = kernel("unsigned", function(x, h)
  h[threadIdx.x] = cast(u32(x[threadIdx.x]) * 65599, i32)
end)
local x, h = arange(i32, 32), zeros(i32, 32)
for i = 0, 31 do x[i] = i << 15 end
signed{grid = 1, block = 32}(x, h)
unsigned{grid = 1, block = 32}(x, h)
