-- A condition is no coordinate.
local k = kernel("refused", function(x)
  x[0] = x[x[1] > 0.0] -- expect error: coordinate: a run-time value of type bool is no integer; cast it with i32(x)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
