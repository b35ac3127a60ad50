-- statistics_collectives.lua: means and variances by Welford's method, products of complex numbers and
-- arg max by an `if`, through the collectives of tables, against plain Lua.

local where_to = device().sm and "cuda" or "cpu"

-- {====== Welford ======

local function sample(v) return { n = 1.0, mean = v, m2 = 0.0 } end

-- Chan's way to put two parts together. A part may be empty.
local function join(a, b)
  local n, delta = a.n + b.n, b.mean - a.mean
  local m2 = a.m2 + b.m2 + delta * delta * a.n * b.n / n
  return { n = n, mean = a.mean + delta * b.n / n, m2 = m2 }
end

-- One more number.
local function add(s, v)
  s.n = s.n + 1.0
  local delta = v - s.mean
  s.mean = s.mean + delta / s.n
  s.m2 = s.m2 + delta * (v - s.mean)
end

local variance = kernel("variance", function(x, out)
  local mine = { n = 0.0, mean = 0.0, m2 = 0.0 }
  for i in range(threadIdx.x, size(x), blockDim.x) do add(mine, x[i]) end
  local all = block_reduce(mine, join)
  out[0], out[1], out[2] = all.n, all.mean, all.m2 / all.n
  local scan = warp_scan(sample(x[threadIdx.x]), join)
  out[3 + threadIdx.x] = scan.m2 / scan.n
end)

local function plain_variance(t, n)
  local mean, sum = 0.0, 0.0
  for i = 1, n do mean = mean + t[i] / n end
  for i = 1, n do sum = sum + (t[i] - mean) ^ 2 end
  return mean, sum / n
end

local function close(a, b) return math.abs(a - b) < 1e-4 * math.max(1.0, math.abs(b)) end

for _, block in ipairs { 32, 96, 128, 256 } do
  local N = 1000
  local x, out = rand(f32, N, 999.0, 1003.0):to(where_to), zeros(f32, 3 + block):to(where_to)
  variance { grid = 1, block = block }(x, out)
  local t, got = x:totable(), out:totable()
  local mean, var = plain_variance(t, N)
  local ok = got[1] == N and close(got[2], mean) and close(got[3], var)
  for lane = 2, 32 do
    local _, want = plain_variance(t, lane)
    ok = ok and math.abs(got[3 + lane] - want) < 2e-3
  end
  print(block, ok)
end
-- expect: 32	true
-- expect: 96	true
-- expect: 128	true
-- expect: 256	true

-- {====== Complex numbers ======

local Complex = {}
Complex.__index = Complex
local function complex(re, im) return setmetatable({ re = re, im = im }, Complex) end
function Complex.__mul(a, b)
  return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
end
function Complex:norm() return self.re * self.re + self.im * self.im end

-- Products of units and of 1 + i modulo 97: exact.
local function number(i)
  if i % 3 == 0 then return complex(0, 1) end
  if i % 3 == 1 then return complex(1, 1) end
  return complex(-1, 2)
end
local function mul(a, b)
  local p = a * b
  return complex(p.re % 97, p.im % 97)
end

local products = kernel("products", function(out)
  local i = threadIdx.x
  local v = number(i)
  local scan, all = block_scan(v, mul)
  local w = warp_reduce(v, mul)
  out[{ i, 0 }], out[{ i, 1 }] = scan.re, scan.im
  out[{ i, 2 }], out[{ i, 3 }] = all:norm(), w:norm()
end)

local n_wrong, BLOCK = 0, 128
local out = zeros(i32, { BLOCK, 4 }):to(where_to)
products { grid = 1, block = BLOCK }(out)
local got = out:totable()
local function wrong(a, b) n_wrong = n_wrong + (a == b and 0 or 1) end
local function product(first, last)
  local p = number(first)
  for i = first + 1, last do p = mul(p, number(i)) end
  return p
end
for i = 0, BLOCK - 1 do
  local scan = i == 0 and number(0) or product(0, i)
  wrong(got[i + 1][1], scan.re)
  wrong(got[i + 1][2], scan.im)
  wrong(got[i + 1][3], product(0, BLOCK - 1):norm())
  wrong(got[i + 1][4], product(i // 32 * 32, i // 32 * 32 + 31):norm())
end
print(n_wrong) -- expect: 0

-- {====== Arg max by a condition ======

local function better(a, b)
  if b.v > a.v or b.v == a.v and b.i < a.i then return b end
  return a
end

local arg_max = kernel("arg_max", function(x, value, index)
  local best = { v = x[0], i = 0 }
  for i in range(threadIdx.x, size(x), blockDim.x) do best = better(best, { v = x[i], i = i }) end
  local mine = { v = x[threadIdx.x], i = threadIdx.x }
  local so_far = warp_scan(mine, better)
  best = block_reduce(best, better)
  value[threadIdx.x], index[threadIdx.x] = best.v, best.i * 1000 + so_far.i
end)
local data, first, n_right = {}, 1, 0
for i = 1, 777 do data[i] = i * 37 % 101 + 0.5 end
for i, v in ipairs(data) do first = v > data[first] and i or first end
local value, index = zeros(f32, 160):to(where_to), zeros(i32, 160):to(where_to)
arg_max { grid = 1, block = 160 }(from_table(f32, data):to(where_to), value, index)
local v, at = value:totable(), index:totable()
for t = 1, 160 do
  local best = (t - 1) // 32 * 32 + 1
  for i = best, t do best = data[i] > data[best] and i or best end
  n_right = n_right + (v[t] == data[first] and at[t] == (first - 1) * 1000 + best - 1 and 1 or 0)
end
print(n_right) -- expect: 160
