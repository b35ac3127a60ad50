-- A coordinate that was never given a value.
local k = kernel("refused", function(x)
  local i = nil
  x[0] = x[i] -- expect error: t[nil]: the coordinate has no value; elements are t[i] and t[{i,j}]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
