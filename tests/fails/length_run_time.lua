-- A number has no length.
local k = kernel("lengths", function(x)
  x[0] = #x[0] -- expect error: '#' on a run-time value; size(t) is the number of elements of a tensor
end)
k{grid = 1, block = 32}(zeros(f32, 32))
