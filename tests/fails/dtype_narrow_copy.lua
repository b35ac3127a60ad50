-- copy widens, and narrows nothing.
local k = kernel("narrowing", function(x, y)
  copy(tile(x, 4, 0), tile(y, 4, 0)) -- expect error: copy: x is f32 but y is f16; nothing becomes narrower by itself, so cast the elements
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(f16, 4))
