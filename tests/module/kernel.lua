-- Kernels of a stock Lua run: their source is found in the file.
local ct = require "cuttle"
local threadIdx, size = ct.threadIdx, ct.size
ct.device "cpu"
local double = ct.kernel("double", function(x)
  local i = threadIdx.x
  if i < size(x) and i % 2 == 0 then x[i] = 2 * x[i] end
end)
local x = ct.arange(ct.f32, 5)
double{ grid = 1, block = 32 }(x)
print(table.concat(x:totable(), " "))                   -- expect: 0.0 1.0 4.0 3.0 8.0
