-- A tensor of coordinates is no coordinate.
local k = kernel("refused", function(x)
  x[0] = x[x] -- expect error: coordinate: argument 2 is a tensor; an integer, a table of them, a text like "(4,(2,3))" or _ was expected
end)
k{grid = 1, block = 32}(zeros(f32, 32))
