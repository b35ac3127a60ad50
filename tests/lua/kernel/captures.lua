-- What a kernel captures is part of its key: numbers, booleans and texts by value, tables and
-- functions by identity. Fields of captured tables are compared with what the trace read.
local count = {n = 0}
local out = zeros(f32, 1)
local function value(k)
  local before = count.n
  k{grid = 1, block = 1}(out)
  print(out[0], count.n > before and "traced" or "known")
end

local number, flag, text, settings = 2, true, "a", {bias = 10.0}
local k = kernel("captures", function(t)
  count.n = count.n + 1
  local v = number + settings.bias
  if flag then v = v + 100.0 end
  if text == "b" then v = v + 1000.0 end
  t[0] = v
end)
value(k)                -- expect: 112.0	traced
value(k)                -- expect: 112.0	known
number = 3
value(k)                -- expect: 113.0	traced
number = 3.0
value(k)                -- expect: 113.0	traced
number = 2
value(k)                -- expect: 112.0	known
flag = false
value(k)                -- expect: 12.0	traced
text = "b"
value(k)                -- expect: 1012.0	traced
text = ("b"):rep(1)
value(k)                -- expect: 1012.0	known
settings.bias = 20.0    -- inside a table
value(k)                -- expect: 1022.0	traced
settings.bias = 10.0
value(k)                -- expect: 1012.0	known
settings.other = 1      -- not read
value(k)                -- expect: 1012.0	known
k:reset()
value(k)                -- expect: 1012.0	traced
settings = {bias = 30.0}
value(k)                -- expect: 1032.0	traced

-- Element types and functions.
local dtype, op = f32, function(v) return v + 1.0 end
local kf = kernel("functions", function(t)
  count.n = count.n + 1
  local f = fragment(dtype, 1)
  f[0] = op(2.0)
  t[0] = f[0] * 2
end)
value(kf)               -- expect: 6.0	traced
op = function(v) return v + 2.0 end
value(kf)               -- expect: 8.0	traced
value(kf)               -- expect: 8.0	known

-- Long texts of equal contents are equal, wherever they lie.
local long = ("x"):rep(100)
local kl = kernel("long", function(t)
  count.n = count.n + 1
  t[0] = #long + 0.0
end)
value(kl)               -- expect: 100.0	traced
long = ("x"):rep(50) .. ("x"):rep(50)
value(kl)               -- expect: 100.0	known
long = ("x"):rep(99) .. "y"
value(kl)               -- expect: 100.0	traced

-- Layouts are values, too, but known by identity.
local shape = layout{2, 3}
local ks = kernel("shape", function(t)
  count.n = count.n + 1
  t[0] = size(shape) + 0.0
end)
value(ks)               -- expect: 6.0	traced
shape = layout{4, 3}
value(ks)               -- expect: 12.0	traced

-- Closures: each kernel has its own captures, although they share their text.
local function make(n)
  return kernel(function(t)
    count.n = count.n + 1
    for _ = 1, n do t[0] = t[0] + 1.0 end
  end)
end
local ones, threes = make(1), make(3)
out[0] = 0
value(ones)             -- expect: 1.0	traced
value(threes)           -- expect: 4.0	traced
value(ones)             -- expect: 5.0	known
local kernels = {}
for i = 1, 4 do
  kernels[i] = kernel("k" .. i, function(t) t[0] = i * i + 0.0 end)
end
for i = 4, 1, -1 do
  kernels[i]{grid = 1, block = 1}(out)
  print(out[0])
end                     -- expect: 16.0
-- expect: 9.0
-- expect: 4.0
-- expect: 1.0

-- A variable that two closures share is seen by both.
local shared_number = 1
local function set(n) shared_number = n end
local kv = kernel("shared_number", function(t) t[0] = shared_number + 0.0 end)
set(5)
kv{grid = 1, block = 1}(out)
print(out[0])           -- expect: 5.0
set(6)
kv{grid = 1, block = 1}(out)
print(out[0])           -- expect: 6.0
