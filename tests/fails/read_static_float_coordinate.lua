-- Half an element.
local k = kernel("refused", function(x)
  x[0] = x[0.5] -- expect error: coordinate: 0.5 is no integer; an integer was expected
end)
k{grid = 1, block = 32}(zeros(f32, 32))
