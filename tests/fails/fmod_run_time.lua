-- Lua's operator has a counterpart in a kernel, its C function has none.
local k = kernel("refused", function(x)
  x[0] = math.fmod(x[1], 2.0) -- expect error: math.fmod of a run-time value; write x % y, which has the sign of y
end)
k{grid = 1, block = 32}(zeros(f32, 32))
