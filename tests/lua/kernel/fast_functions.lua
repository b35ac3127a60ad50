-- Fast functions keep the errors that docs/numerics.md states, on every device; of f64 they are the
-- exact ones. mulhi is the high half of a product, computed here digit by digit.

-- {====== f32, against Lua's f64 ======

local function spread(lo, hi, n)
  local list = {}
  for i = 0, n - 1 do list[i + 1] = f32(lo + (hi - lo) * i / (n - 1)).value end
  return list
end
local n <const> = 1000
local function ulps(count)
  return function(_, want) return count * 2.0 ^ -23 * math.abs(want) end
end
local function absolute(log) return function() return 2.0 ^ log end end
local wide <const>, positive <const> = spread(-80, 80, n), spread(1e-3, 1e4, n)
local near_one <const>, turn <const> = spread(0.5, 2, n), spread(-3.14, 3.14, n)
local LN10 <const> = math.log(10)

local rows <const> = {
  {"exp", wide, math.exp,
    function(x, want) return (2 + 1.173 * math.abs(x)) * 2.0 ^ -23 * want end},
  {"exp2", wide, function(x) return 2.0 ^ x end, ulps(2)},
  {"exp10", spread(-30, 30, n), function(x) return 10.0 ^ x end,
    function(x, want) return (2 + 2.97 * math.abs(x)) * 2.0 ^ -23 * want end},
  {"log", near_one, math.log, absolute(-21.41)},
  {"log", spread(3, 1e30, n), math.log, ulps(3)},
  {"log2", near_one, function(x) return math.log(x, 2) end, absolute(-22)},
  {"log2", spread(3, 1e30, n), function(x) return math.log(x, 2) end, ulps(2)},
  {"log10", near_one, function(x) return math.log(x) / LN10 end, absolute(-23.4)},
  {"log10", spread(3, 1e30, n), function(x) return math.log(x) / LN10 end, ulps(3)},
  {"sin", turn, math.sin, absolute(-21.41)},
  {"cos", turn, math.cos, absolute(-21.19)},
  {"tanh", wide, function(x) return 1 - 2 / (math.exp(2 * x) + 1) end,
    function(_, want) return 2.0 ^ -10.9 * math.abs(want) + 1e-16 end},
  {"rcp", wide, function(x) return 1 / x end, ulps(1)},
  {"sqrt", positive, math.sqrt, ulps(2)},
  {"rsqrt", positive, function(x) return 1 / math.sqrt(x) end, ulps(2)},
}

local n_close = 0
for _, row in ipairs(rows) do
  local name, inputs, want_of, bound_of = table.unpack(row)
  local f = fast[name]
  local x, y = from_table(f32, inputs), zeros(f32, n)
  kernel("fast_" .. name, function(x, y)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < n then y[i] = f(x[i]) end
  end){grid = cdiv(n, 256), block = 256}(x, y)
  local worst, at = 0, nil
  for i = 0, n - 1 do
    local want = want_of(x[i])
    local error = math.abs(y[i] - want) / bound_of(x[i], want)
    if error > worst or error ~= error then worst, at = error, i end
  end
  if worst <= 1 then n_close = n_close + 1 else print(name, x[at], y[at], want_of(x[at])) end
end
print(n_close, "fast functions keep their bounds") -- expect: 15	fast functions keep their bounds

local pairs_of <const> = from_table(f32, {3.0, 7.0, -2.5, 1e-3, 1e20, 0.7})
local quotients, powers = zeros(f32, {6, 6}), zeros(f32, {6, 6})
kernel("fast_pairs", function(x, q, p)
  local i, j = threadIdx.x, blockIdx.x
  q[{i, j}] = fast.div(x[i], x[j])
  p[{i, j}] = fast.pow(abs(x[i]), x[j] * 0.01)
end){grid = 6, block = 6}(pairs_of, quotients, powers)
local good = 0
for i = 0, 5 do
  for j = 0, 5 do
    local x, y = pairs_of[i], pairs_of[j]
    local q, p = x / y, math.abs(x) ^ (y * 0.01)
    local power = powers[{i, j}]
    if math.abs(quotients[{i, j}] - q) <= 2.0 ^ -21 * math.abs(q)
      and (power == p or math.abs(power - p) <= 1e-4 * p or p > 1e38 or p < 1e-37) then
      good = good + 1
    end
  end
end
print(good) -- expect: 36

-- {====== Numbers of Lua, f64, integers ======

print(fast.exp(0), fast.exp2(3), fast.log2(8), fast.rcp(4), fast.div(1, 8), fast.pow(2, 3))
-- expect: 1.0	8.0	3.0	0.25	0.125	8.0
print(fast.sqrt(9), fast.rsqrt(4), fast.sin(0), fast.cos(0), fast.tanh(0), fast.log(1))
-- expect: 3.0	0.5	0.0	1.0	0.0	0.0
local d, e = from_table(f64, {0.7, 2.3}), zeros(f64, 14)
kernel("of_f64", function(d, e)
  local x, y = d[0], d[1]
  e[0], e[1], e[2], e[3] = fast.exp(x), fast.exp2(x), fast.exp10(x), fast.log(x)
  e[4], e[5], e[6], e[7] = fast.log2(x), fast.log10(x), fast.sin(x), fast.cos(x)
  e[8], e[9], e[10], e[11] = fast.tanh(x), fast.rcp(x), fast.sqrt(x), fast.rsqrt(x)
  e[12], e[13] = fast.div(x, y), fast.pow(x, y)
end){grid = 1, block = 1}(d, e)
local exact = {exp(0.7), exp2(0.7), exp10(0.7), log(0.7), log2(0.7), log10(0.7), sin(0.7), cos(0.7),
  tanh(0.7), 1 / 0.7, sqrt(0.7), rsqrt(0.7), 0.7 / 2.3, fast.pow(0.7, 2.3)}
local n_exact = 0
for i, want in ipairs(exact) do n_exact = n_exact + (e[i - 1] == want and 1 or 0) end
print(n_exact) -- expect: 14

-- An integer is taken as f32; a narrow float is widened, and the store rounds.
local h = from_table(f16, {0.5, 2.0})
kernel("of_narrow", function(h, n)
  h[0] = cast(erf(h[0]), f16)
  h[1] = cast(fast.rcp(cast(n, i32)), f16)
end){grid = 1, block = 1}(h, 4)
print(h[0] == f16(erf(0.5)).value, h[1]) -- expect: true	0.25

-- {====== mulhi ======

-- The high half of a product of words of `width` bits, by halves.
local function high(x, y, width, is_signed)
  local half = width // 2
  local mask = (1 << half) - 1
  local a, b, c, e2 = x & mask, x >> half & mask, y & mask, y >> half & mask
  local middle = b * c + (a * c >> half)
  local low = (middle & mask) + a * e2
  local result = b * e2 + (middle >> half) + (low >> half)
  local top = 1 << (width - 1)
  if is_signed and x & top ~= 0 then result = result - y end
  if is_signed and y & top ~= 0 then result = result - x end
  if width == 64 then return result end
  result = result & (1 << width) - 1
  return is_signed and result & top ~= 0 and result - (1 << width) or result
end

local words <const> = {0, 1, -1, 2, 3, 0x7fffffff, 0x80000000, 0xffffffff, 123456789, -987654321,
  math.maxinteger, math.mininteger, 0x123456789abcdef, -0x123456789abcdef, 1 << 33}
local k <const> = #words
for _, t in ipairs {i32, u32, i64, u64} do
  local list = {}
  for i, w in ipairs(words) do
    local low = w & 0xffffffff
    list[i] = t.bits == 64 and w or (t == i32 and low >= 1 << 31) and low - (1 << 32) or low
  end
  local x, y = from_table(t, list), zeros(t, {k, k})
  kernel("high", function(x, y)
    local i, j = threadIdx.x, blockIdx.x
    y[{i, j}] = mulhi(x[i], x[j])
  end){grid = k, block = k}(x, y)
  local n_same = 0
  for i = 0, k - 1 do
    for j = 0, k - 1 do
      local want = high(list[i + 1], list[j + 1], t.bits, t == i32 or t == i64)
      n_same = n_same + (y[{i, j}] == want and 1 or 0)
      if t == i64 and mulhi(list[i + 1], list[j + 1]) ~= want then print("host", i, j) end
    end
  end
  print(t, n_same == k * k)
end
-- expect: i32	true
-- expect: u32	true
-- expect: i64	true
-- expect: u64	true

-- Constants fold.
local folded = zeros(i32, 2)
kernel("folded", function(y)
  y[0] = mulhi(i32(1 << 30), i32(-12))
  y[1] = cast(mulhi(u32(0xffffffff), u32(0xffffffff)) >> 1, i32)
end){grid = 1, block = 1}(folded)
print(folded[0], folded[1]) -- expect: -3	2147483647
