-- A condition that does not hold in some thread.
local k = kernel("k", function(x)
  local i = threadIdx.x
  assert(x[i] < 10.0, "x must be small") -- expect error: assert: x must be small, by thread (10,0,0) of block (0,0,0)
  x[i] = 0.0
end)
k{grid = 4, block = 32}(arange(f32, 32))
