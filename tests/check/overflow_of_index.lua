-- check: overflow
-- A thread's number is an i32: in a large grid its product with a stride does not fit. No element is outside,
-- because the guard compares the wrapped number. The second kernel computes in i64.
local narrow = kernel("narrow", function(x, n, stride)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local at = i * stride -- finds: overflow: 32 * 67108864 does not fit in i32 and became -2147483648, by thread (0,0,0) of block (1,0,0); compute in i64, or u32 if it is to wrap around
  if at >= 0 and at < n then x[at] = 1.0 end
end)
local wide = kernel("wide", function(x, n, stride)
  local at = i64(blockIdx.x * blockDim.x + threadIdx.x) * stride
  if at >= 0 and at < n then x[at] = 1.0 end
end)
narrow{grid = 2, block = 32}(zeros(f32, 64), 64, 1 << 26)
wide{grid = 2, block = 32}(zeros(f32, 64), 64, 1 << 26)
