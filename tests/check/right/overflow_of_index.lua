-- check: overflow
-- The product of a thread's number and the stride is computed in i64.
local wide = kernel("wide", function(x, n, stride)
  local at = i64(blockIdx.x * blockDim.x + threadIdx.x) * stride
  if at >= 0 and at < n then x[at] = 1.0 end
end)
wide{grid = 2, block = 32}(zeros(f32, 64), 64, 1 << 26)
