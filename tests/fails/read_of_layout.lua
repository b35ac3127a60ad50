-- A layout is called for its index.
local k = kernel("refused", function(x)
  x[0] = x.layout[0] -- expect error: layout: no element [0]; call l(0) for the index, mode(l, 0) for the mode
end)
k{grid = 1, block = 32}(zeros(f32, 32))
