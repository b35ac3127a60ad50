-- Brackets store one element.
local k = kernel("refused", function(x)
  x[_] = 0.0 -- expect error: x[_]: `_` keeps a mode, and [] is one element; write t(...) for a slice
end)
k{grid = 1, block = 32}(zeros(f32, 32))
