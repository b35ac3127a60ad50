-- A tensor does not grow.
local k = kernel("refused", function(x)
  table.insert(x, 1.0) -- expect error: table.insert of a tensor; this takes a Lua table; write t[i] = v
end)
k{grid = 1, block = 32}(zeros(f32, 32))
