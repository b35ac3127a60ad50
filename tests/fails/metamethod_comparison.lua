-- Lua makes true or false of what a comparison's metamethod gives.
local Number = {__lt = function(a, b) return a.v < b.v end}
local k = kernel("order", function(x)
  local a, b = setmetatable({v = x[0]}, Number), setmetatable({v = x[1]}, Number)
  if a < b then x[0] = 1.0 end -- expect error: the metamethod __lt gives a run-time value, of which Lua makes true or false: the comparison was not converted; write a function for it, as in less(a, b)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
