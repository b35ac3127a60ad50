-- Shared memory has bounds, too.
local k = kernel("padded", function(x)
  local s = shared(f32, {4, 8})
  s[{0, threadIdx.x}] = x[threadIdx.x] -- expect error: out of bounds: write of s at (0,8), extent (4,8), by thread (8,0,0) of block (0,0,0)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
