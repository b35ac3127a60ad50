-- where, min, max, abs, fma and the functions of Lua's math library, on run-time values and on Lua
-- numbers; results are compared with the host's.
local n_same = 0
local function same(a, b) return a == b or (a ~= a and b ~= b) end

-- f on the host, f in a kernel: bit for bit, or within `rel`. Noted here, computed by run().
local cases = {}
local function check(name, dtype, inputs, f, rel)
  cases[#cases + 1] = {name = name, x = from_table(dtype, inputs), y = zeros(dtype, #inputs),
    n = #inputs, f = f, rel = rel, dtype = dtype}
end

local function compare(c)
  for i = 0, c.n - 1 do
    local got, want = c.y[i], c.dtype(c.f(c.x[i])).value
    if not (same(got, want) or (c.rel and math.abs(got - want) <= c.rel * math.abs(want))) then
      print(("%s(%s) is %s, expected %s"):format(c.name, c.x[i], got, want))
      return
    end
  end
  n_same = n_same + 1
end

-- All that was noted, in one kernel: a tensor of inputs for each, then those of results.
local function run()
  local tensors = {}
  for i, c in ipairs(cases) do tensors[i], tensors[#cases + i] = c.x, c.y end
  kernel("functions", function(...)
    local t, thread = {...}, threadIdx.x
    for i, c in ipairs(cases) do
      if thread < c.n then t[#cases + i][thread] = c.f(t[i][thread]) end
    end
  end){grid = 1, block = 32}(table.unpack(tensors))
  for _, c in ipairs(cases) do compare(c) end
  cases = {}
end

local values = {0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-3, -1e-3, 100.25, 7.0, 1e6}
local positive = {1e-3, 0.25, 1.0, 2.0, 2.5, 100.25, 1e6}
for _, t in ipairs {f32, f64} do
  local rel = t == f32 and 1e-6 or 1e-14
  check("min", t, values, function(x) return min(x, 1.5) end)
  check("max", t, values, function(x) return max(x, 1.5, -x) end)
  check("math.min", t, values, function(x) return math.min(x, 0.5) end)
  check("math.max", t, values, function(x) return math.max(x, 0.5) end)
  check("abs", t, values, function(x) return abs(x) end)
  check("math.abs", t, values, function(x) return math.abs(x) end)
  check("sqrt", t, positive, function(x) return sqrt(x) end)
  check("math.sqrt", t, positive, function(x) return math.sqrt(x) end)
  check("floor", t, values, function(x) return floor(x) end)
  check("ceil", t, values, function(x) return ceil(x) end)
  local small = {0.5, -0.25, 1e-6, -1e-3, 0.9}
  local any = {0.5, -0.25, 1e-6, 2.5, -3.0}
  check("erf", t, any, function(x) return erf(x) end, rel * 10)
  check("erfc", t, any, function(x) return erfc(x) end, rel * 10)
  check("expm1", t, any, function(x) return expm1(x) end, rel * 10)
  check("log1p", t, small, function(x) return log1p(x) end, rel * 10)
  check("log10", t, positive, function(x) return log10(x) end, rel * 10)
  check("cbrt", t, any, function(x) return cbrt(x) end, rel * 10)
  check("sinh", t, any, function(x) return sinh(x) end, rel * 10)
  check("cosh", t, any, function(x) return cosh(x) end, rel * 10)
  check("asin", t, small, function(x) return asin(x) end, rel * 10)
  check("acos", t, small, function(x) return acos(x) end, rel * 10)
  check("atan", t, any, function(x) return atan(x) end, rel * 10)
  run()
  local halves = {0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, -0.2, 8388607.5, 4194303.25, 1e300,
                  math.huge, -math.huge, 3.0}
  check("trunc", t, halves, function(x) return trunc(x) end)
  check("round", t, halves, function(x) return round(x) end)
  check("rint", t, halves, function(x) return rint(x) end)
  check("exp", t, {0.0, 1.0, -1.0, 2.5, -10.0}, function(x) return exp(x) end, rel)
  check("exp2", t, {0.0, 1.0, -1.0, 2.5, -10.0}, function(x) return exp2(x) end, rel)
  check("log", t, positive, function(x) return log(x) end, rel)
  check("log2", t, positive, function(x) return log2(x) end, rel)
  check("sin", t, values, function(x) return sin(x) end, rel * 10)
  check("cos", t, {0.5, 1.0, -1.0, 2.5, 100.25}, function(x) return cos(x) end, rel * 10)
  check("tanh", t, values, function(x) return tanh(x) end, rel)
  check("rsqrt", t, positive, function(x) return rsqrt(x) end, rel)
  check("pow", t, positive, function(x) return x ^ 1.5 end, rel)
  check("square", t, {3.0, -2.5, 0.125}, function(x) return x ^ 2 end)
  run()
end
check("abs of integers", i32, {0, 5, -5, 2147483647}, function(x) return abs(x) end)
check("min of integers", i32, {0, 5, -5, 7}, function(x) return min(x, 3) end)
check("max of integers", i64, {0, 5, -5, 1 << 40}, function(x) return max(x, 3) end)
run()
print(n_same, "functions agree") -- expect: 71	functions agree

-- math.floor and math.ceil give integers.
local out = zeros(i32, 4)
kernel("rounds", function(t, x)
  t[0] = math.floor(x)
  t[1] = math.ceil(x)
  t[2] = math.floor(-x)
  t[3] = math.ceil(-x)
end){grid = 1, block = 1}(out, 2.5)
print(out[0], out[1], out[2], out[3])    -- expect: 2	3	-3	-2

-- fma rounds once: 1 + 2^-30 times 1 - 2^-30 is 1 - 2^-60.
local d = zeros(f64, 2)
kernel("fused", function(t, e)
  t[0] = fma(1 + e, 1 - e, f64(-1))
  t[1] = fma(f64(2), e, e)
end){grid = 1, block = 1}(d, f64(2.0 ^ -30))
print(d[0] == -2.0 ^ -60, d[1] == 3 * 2.0 ^ -30) -- expect: true	true

-- where takes both; the condition may be static, then it is Lua's choice.
local v = zeros(f32, 32)
kernel("wheres", function(t, n)
  local i = threadIdx.x
  local a = where(i < n, 1.0, 2.0)
  local b = where(true, a, "never looked at")
  t[i] = where(i % 2 == 0, b, -b)
end){grid = 1, block = 32}(v, 4)
print(v[0], v[1], v[4], v[5])            -- expect: 1.0	-1.0	2.0	-2.0

-- min and max prefer the number to NaN.
local m = zeros(f32, 4)
kernel("nans", function(t, x)
  t[0] = min(x, 1.0)
  t[1] = max(1.0, x)
  t[2] = where(x == x, 1.0, 0.0)
  t[3] = where(x ~= x, 1.0, 0.0)
end){grid = 1, block = 1}(m, 0/0)
print(m[0], m[1], m[2], m[3])            -- expect: 1.0	1.0	0.0	1.0

-- cdiv rounds up; on tuples entry by entry.
local c = zeros(i32, 3)
kernel("cdivs", function(t, n)
  t[0] = cdiv(n, 4)
  t[1] = cdiv(n - 20, 4)
  t[2] = cdiv(n + 3, 4)
end){grid = 1, block = 1}(c, 13)
print(c[0], c[1], c[2], cdiv(13, 4), table.concat(cdiv({13, 8}, {4, 3}), " ")) -- expect: 4	-1	4	4	4 3
-- cdiv takes texts as other functions do.
print(table.unpack(cdiv("(7,8)", "(2,3)"))) -- expect: 4	3
print(table.unpack(cdiv({7, 8}, "(2,3)"))) -- expect: 4	3
print(table.unpack(cdiv({8, 10, 6}, {3, 4}))) -- expect: 3	3	6
print(cdiv("7", 2)) -- expect: 4

-- math.log with a base, of which either may be known only at run time.
local logs = zeros(f64, 4)
kernel("logs", function(t, x)
  t[0] = math.log(x, 10)
  t[1] = math.log(x, 2)
  t[2] = math.log(64, x)
  t[3] = math.log(x, x)
end){grid = 1, block = 1}(logs, f64(1000.0))
local wanted = {math.log(1000.0, 10), math.log(1000.0, 2), math.log(64, 1000.0), 1.0}
for i, want in ipairs(wanted) do
  print(math.abs(logs[i - 1] - want) <= 1e-14 * want) -- expect: true
end
-- expect: true
-- expect: true
-- expect: true

-- What messages advise to write instead of functions of Lua's library.
local parts = zeros(f32, 8)
kernel("instead", function(t, x)
  t[0], t[1] = floor(x), x - floor(x)
  t[2] = x % -2.0
  t[3] = x * (180.0 / math.pi)
  t[4] = sin(x) / cos(x)
  t[5] = where(bitcast(cast(-x, i32), u32) < bitcast(cast(x, i32), u32), 1.0, 0.0)
end){grid = 1, block = 1}(parts, 3.25)
print(parts[0], parts[1], parts[2]) -- expect: 3.0	0.25	-0.75
local same_as = from_table(f32, {3.0, 0.25, -0.75, math.deg(3.25), math.tan(3.25), 0.0, 0.0, 0.0})
print(allclose(parts, same_as, {rtol = 1e-5, atol = 1e-6})) -- expect: true
