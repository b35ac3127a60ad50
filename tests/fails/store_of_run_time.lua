-- A number cannot be assigned to by parts.
local k = kernel("refused", function(x)
  local i = x[0]
  i[0] = 1.0 -- expect error: attempt to index a run-time value (local 'i'); only tensors and tables have elements
end)
k{grid = 1, block = 32}(zeros(f32, 32))
