-- A tensor has a size.
local k = kernel("refused", function(x)
  for i = 0, #x - 1 do -- expect error: '#' of a tensor; size(t) is the number of its elements
    x[i] = 0.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
