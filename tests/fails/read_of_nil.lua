-- Nor has nil, with the words of Lua.
local k = kernel("refused", function(x)
  local row = nil
  x[0] = row[1] -- expect error: attempt to index a nil value (local 'row')
end)
k{grid = 1, block = 32}(zeros(f32, 32))
