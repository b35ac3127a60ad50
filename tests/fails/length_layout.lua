-- So has a layout.
local k = kernel("refused", function(x)
  x[0] = #x.layout -- expect error: '#' of a layout; size(t) is the number of its elements
end)
k{grid = 1, block = 32}(zeros(f32, 32))
