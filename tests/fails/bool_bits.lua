-- Bits of conditions.
local k = kernel("bits", function(n, a)
  local both = (threadIdx.x < a) & (threadIdx.x > 3) -- expect error: &: integers expected, got bool; write 'and', 'or' or '~='
  n[threadIdx.x] = where(both, 1, 0)
end)
k{grid = 1, block = 32}(zeros(i32, 32), 5)
