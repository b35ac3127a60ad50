-- Mathematics is of elements, with Lua's name of a function too.
local k = kernel("refused", function(x)
  x[0] = math.max(x, 0.0) -- expect error: max: a number or boolean expected, got a tensor; write t[i] for an element of it
end)
k{grid = 1, block = 32}(zeros(f32, 32))
