-- Tensors that share memory: the engines must not take them for separate.
local function ramp(n)
  local t = zeros(f32, n)
  for i = 0, n - 1 do t[i] = i end
  return t
end
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = a * x[i] + y[i] end
end)
local x = ramp(100)
saxpy{grid = 4, block = 32}(2.0, x, x)
print(x[0], x[1], x[99])                  -- expect: 0.0	3.0	297.0

-- One thread that shifts by one in place reads what it wrote.
local shift = kernel("shift", function(from, to, n)
  for i in range(n) do to[i] = from[i] + 1.0 end
end)
local t = zeros(f32, 11)
shift{grid = 1, block = 1}(tile(t, 1, 0):view(layout(10)), tile(t, 1, 1):view(layout(10)), 10)
print(t[0], t[1], t[10])                  -- expect: 0.0	1.0	10.0

-- A copy within one tensor: elements one by one, in order.
local c = ramp(16)
kernel("copy_within", function(a, b)
  local r = fragment(f32, {8})
  copy(tile(a, 8, 0), r)
  copy(r, tile(b, 8, 0))
end){grid = 1, block = 1}(view(c, layout(8)), tile(c, 4, 1):view(layout(8)))
print(c[3], c[4], c[11], c[12])           -- expect: 3.0	0.0	7.0	12.0

-- The source code says so: __restrict__ only where nothing overlaps.
local y = ramp(100)
local config = saxpy{grid = 4, block = 32}
print(config:source(2.0, y, x):find("__restrict__", 1, true) ~= nil) -- expect: true
print(config:source(2.0, x, x):find("__restrict__", 1, true) ~= nil) -- expect: false
