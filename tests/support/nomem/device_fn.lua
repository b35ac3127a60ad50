-- Functions of device_fn, as CUDA has them: one that calls another, and one that is traced again for a table
-- that a loop changes.
local offset = 3
local inner = device_fn(function(a) return a * offset end, {name = "inner"})
local outer = device_fn(function(a, n)
  local best = {v = a}
  for i = 1, n do
    if inner(i) > best.v then best = {v = inner(i)} end
  end
  return best.v, n
end, {noinline = true})
local x = zeros(i32, 4)
local k = kernel("calls", function(x, n)
  local v, m = outer(x[0], n)
  x[1] = v + inner(m)
end)
local text = k{grid = 1, block = 1}:source(x, 2)
assert(text:find("inner_i32", 1, true) and text:find("__noinline__", 1, true))
