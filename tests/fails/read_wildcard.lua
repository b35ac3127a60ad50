-- Brackets read one element, and a slice is a call.
local k = kernel("refused", function(x)
  clear(x[_]) -- expect error: x[_]: `_` keeps a mode, and [] is one element; write t(...) for a slice
end)
k{grid = 1, block = 32}(zeros(f32, 32))
