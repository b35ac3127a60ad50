-- The elements of a tensor are no list of arguments.
local k = kernel("refused", function(x)
  local r = fragment(f32, 2)
  clear(r)
  x[0] = max(table.unpack(r)) -- expect error: table.unpack of a tensor; name the elements, as in t[0], t[1]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
