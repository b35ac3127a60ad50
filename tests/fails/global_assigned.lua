-- A name without 'local'.
-- luacheck: globals count
local k = kernel("counts", function(x)
  count = 1 -- expect error: 'count' is a global; write 'local count = ...'
  x[0] = 1.0
end)
k{grid = 1, block = 32}(zeros(f32, 32))
