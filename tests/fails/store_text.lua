-- A text is no element, even of digits.
local k = kernel("refused", function(x)
  x[0] = "1" -- expect error: store to x: f32 expected, got a text
end)
k{grid = 1, block = 32}(zeros(f32, 32))
