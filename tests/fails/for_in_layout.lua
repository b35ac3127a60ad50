-- Nor is a layout.
local k = kernel("refused", function(x)
  for i in x.layout do -- expect error: 'for ... in' of a layout; write 'for i = 0, size(t) - 1 do' with t[i]
    x[i] = 0.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
