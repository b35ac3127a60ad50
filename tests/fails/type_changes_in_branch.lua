-- A number does not become a boolean under a condition.
local k = kernel("marks", function(x)
  local mark = 0.0
  if x[0] > 0.0 then
    mark = true -- expect error: 'mark' (line 3) is float but is given bool here; use another name for it
  end
  x[0] = mark
end)
k{grid = 1, block = 32}(zeros(f32, 32))
