-- A Lua integer must fit the destination.
local k = kernel("large", function(x)
  x[0] = 300 -- expect error: store to x: 300 does not fit u8; expected 0 to 255
end)
k{grid = 1, block = 1}(zeros(u8, 4))
