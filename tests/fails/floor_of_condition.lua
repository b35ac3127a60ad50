-- A condition is no number.
local k = kernel("refused", function(x)
  x[0] = math.floor(x[1] > 0.0) -- expect error: math.floor: a number expected, got a run-time bool; write where(c, 1, 0)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
