-- Functions of device_fn: one in CUDA C for each list of types, traced in place by the CPU engine.
local offset = 3.0
local fold = device_fn(function(a, b)
  local s = a * b + offset
  if s > 10.0 then return s - 10.0, 1 end
  return s, 0
end, {name = "fold", noinline = true})
local repeated = device_fn(function(x, n)
  local s = x
  for _ = 1, n do
    local y, carry = fold(s, 1.0)
    s = y + carry
  end
  return s
end)

local k = kernel("calls", function(x, y)
  local i = threadIdx.x
  local a, carry = fold(x[i], 2.0)
  y[{i, 0}], y[{i, 1}] = a, f32(carry)
  y[{i, 2}] = repeated(x[i], 3)
  y[{i, 3}] = repeated(x[i], i)
  if i % 2 == 0 then y[{i, 4}] = repeated(a, i) end
  local wide = fold(f64(x[i]), f64(0.25))
  y[{i, 5}] = f32(wide)
end)

local function check(y)
  for i = 0, 31 do
    local x = i * 1.0
    local a, carry = fold(x, 2.0)
    assert(y[{i, 0}] == a and y[{i, 1}] == carry)
    assert(y[{i, 2}] == repeated(x, 3) and y[{i, 3}] == repeated(x, i))
    assert(y[{i, 4}] == (i % 2 == 0 and repeated(a, i) or 0))
    assert(y[{i, 5}] == (fold(x, 0.25)))
  end
end
local x, y = arange(f32, 32), zeros(f32, {32, 6})
k{grid = 1, block = 32}(x, y)
check(y)
offset = 4.5 -- another one of the function
y = zeros(f32, {32, 6})
k{grid = 1, block = 32}(x, y)
check(y)
print("floats") -- expect: floats

-- What is known while tracing makes a function of its own: a number, a string, a type.
local apply = device_fn(function(how, type, v, n)
  local out = v
  for _ = 1, n do
    if how == "twice" then out = out * 2 else out = out + n end
  end
  return cast(out, type)
end)
local z = zeros(i32, {8, 3})
kernel("known", function(z)
  local i = threadIdx.x
  z[{i, 0}] = apply("once", i32, i, 3)
  z[{i, 1}] = apply("twice", i32, i, 2)
  z[{i, 2}] = i32(apply("twice", u8, 100, i))
end){grid = 1, block = 8}(z)
for i = 0, 7 do
  assert(z[{i, 0}] == i + 9 and z[{i, 1}] == i * 4 and z[{i, 2}] == 100 << i & 255)
end
print("known") -- expect: known

-- Integers, bools, words; no results; loops that are left; results that operations of a warp use.
local steps = device_fn(function(n, limit)
  local count = 0
  while n ~= 1 do
    if n % 2 == 0 then n = n // 2 else n = 3 * n + 1 end
    count = count + 1
    if count == limit then break end
  end
  return count, count == limit
end, {name = "collatz"})
local nothing = device_fn(function() end)
local w = zeros(i32, {64, 3})
kernel("steps", function(w)
  local i = threadIdx.x
  nothing()
  local count, is_cut = steps(i + 1, 20)
  w[{i, 0}] = count
  w[{i, 1}] = where(is_cut, 1, 0)
  w[{i, 2}] = warp_reduce(count, "max")
end){grid = 1, block = 64}(w)
for i = 0, 63 do
  local count, is_cut = steps(i + 1, 20)
  assert(w[{i, 0}] == count and w[{i, 1}] == (is_cut and 1 or 0))
end
print(w[{0, 2}], w[{63, 2}]) -- expect: 20	20

-- A pair of halves is a word, so it may be passed.
local scale = device_fn(function(word, by) return f16x2.mul(word, f16x2(by)) end)
local h = arange(f16, 8)
kernel("pairs", function(h)
  local words = recast(h, u32)
  words[threadIdx.x] = scale(words[threadIdx.x], 0.5)
end){grid = 1, block = 4}(h)
print(h[3], h[7]) -- expect: 1.5	3.5

-- The kernel's options are those of its functions: how far loops unroll, and whether a * b + c is contracted.
local series = device_fn(function(v)
  local i, sum = 0, v
  while i < 100 do sum, i = sum * v + 0.1, i + 1 end
  return sum
end)
local function series_text(options)
  local f = kernel("series", function(t) t[0] = series(t[0]) end, options)
  local ok, text = pcall(function() return f{grid = 1, block = 1}:source(zeros(f32, 4)) end)
  if not ok then return text:match("more than %d+ iterations") end
  return text:find("fma", 1, true) and "contracted" or "not"
end
print(series_text {}) -- expect: more than 64 iterations
print(series_text { max_unroll = 100 }) -- expect: contracted
print(series_text { max_unroll = 100, contract = false }) -- expect: not

-- A function may call itself with other values that are known: each is a function of its own.
local power
power = device_fn(function(v, n) if n == 0 then return 1 end return v * power(v, n - 1) end)
local cubes = zeros(i32, 4)
kernel("cubes", function(x) x[threadIdx.x] = power(threadIdx.x, 3) end){grid = 1, block = 4}(cubes)
print(cubes[2], cubes[3]) -- expect: 8	27
