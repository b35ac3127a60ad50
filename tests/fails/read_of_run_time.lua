-- A number has no elements.
local k = kernel("refused", function(x)
  local i = threadIdx.x
  x[i] = i[0] -- expect error: attempt to index a run-time value (local 'i'); only tensors and tables have elements
end)
k{grid = 1, block = 32}(zeros(f32, 32))
