-- A function is no element: its call was forgotten.
local k = kernel("refused", function(x)
  local function one() return 1.0 end
  x[0] = one -- expect error: store to x: f32 expected, got a function
end)
k{grid = 1, block = 32}(zeros(f32, 32))
