-- A tensor is no Lua table: its elements have coordinates.
local k = kernel("refused", function(x)
  local sum = 0.0
  for _, v in pairs(x) do -- expect error: pairs of a tensor; this takes a Lua table; write 'for i = 0, size(t) - 1 do' with t[i]
    sum = sum + v
  end
  x[0] = sum
end)
k{grid = 1, block = 32}(zeros(f32, 32))
