-- A coordinate is an integer, at run time as well.
local k = kernel("refused", function(x)
  x[0] = x[x[1]] -- expect error: coordinate: a run-time value of type f32 is no integer; cast it with i32(x), or write // for /
end)
k{grid = 1, block = 32}(zeros(f32, 32))
