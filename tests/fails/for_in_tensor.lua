-- A tensor can be called, but is no iterator.
local k = kernel("refused", function(x)
  local sum = 0.0
  for v in x do -- expect error: 'for ... in' of a tensor; write 'for i = 0, size(t) - 1 do' with t[i]
    sum = sum + v
  end
  x[0] = sum
end)
k{grid = 1, block = 32}(zeros(f32, 32))
