-- A variable keeps the type that it starts with.
local k = kernel("sum", function(x, y)
  local s = x[0]
  for i = 1, y[0] do
    s = s + x[i] -- expect error: 's' (line 3) is f16 but is given f32 here; start it as f32(v), or give it cast(v, f16)
  end
  y[1] = i32(s)
end)
k{grid = 1, block = 1}(zeros(f16, 32), zeros(i32, 32))
