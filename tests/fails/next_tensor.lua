-- Nor does next know its elements.
local k = kernel("refused", function(x)
  local _, first = next(x) -- expect error: next of a tensor; this takes a Lua table; write 'for i = 0, size(t) - 1 do' with t[i]
  x[0] = first
end)
k{grid = 1, block = 32}(zeros(f32, 32))
