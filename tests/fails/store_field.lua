-- Tensors have no fields of the script.
local k = kernel("refused", function(x)
  x.scale = 2.0 -- expect error: a tensor has no field 'scale' to assign; elements are t[{i,j}]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
