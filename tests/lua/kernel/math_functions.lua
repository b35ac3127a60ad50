-- Functions of two operands and of a float's kind, on both float types: exact ones bit for bit against
-- plain Lua, others by their laws; and the exact GELU by erf.
local inf, nan = math.huge, 0 / 0
local function same(a, b) return a ~= a and b ~= b or a == b and 1 / a == 1 / b end
local points = {0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 7.0, -7.0, 1e-3, 1e6, -1e6,
  inf, -inf, nan}

local function sign(x) return (x < 0 or x == 0 and 1 / x < 0) and -1.0 or 1.0 end
local oracle = {
  fmod = function(x, y)
    if x ~= x or y ~= y or x == inf or x == -inf or y == 0 then return nan end
    return y == inf and x or y == -inf and x or math.fmod(x, y)
  end,
  copysign = function(x, y) return math.abs(x) * sign(y) end,
  hypot = function(x, y)
    if x == inf or x == -inf or y == inf or y == -inf then return inf end
    return math.sqrt(x * x + y * y)
  end,
  atan2 = math.atan,
}
local names = {"fmod", "copysign", "hypot", "atan2"}
local ours = {fmod = fmod, copysign = copysign, hypot = hypot, atan2 = atan2}

local function agrees(name, dtype, got, x, y)
  if y ~= y and name == "copysign" then return math.abs(got) == math.abs(x) or x ~= x end
  local want = dtype(oracle[name](x, y)).value
  if name == "fmod" or name == "copysign" then return same(got, want) end
  local rel = dtype == f32 and 1e-6 or 1e-14
  return same(got, want) or math.abs(got - want) <= rel * math.abs(want)
end

local n = #points
for _, dtype in ipairs {f32, f64} do
  local x, y = zeros(dtype, n * n), zeros(dtype, n * n)
  for i = 0, n * n - 1 do x[i], y[i] = points[i // n + 1], points[i % n + 1] end
  for _, name in ipairs(names) do
    local f, out, wrong = ours[name], zeros(dtype, n * n), 0
    kernel("pairs", function(a, b, t)
      local i = blockIdx.x * blockDim.x + threadIdx.x
      if i < size(t) then t[i] = f(a[i], b[i]) end
    end){grid = cdiv(n * n, 64), block = 64}(x, y, out)
    for i = 0, n * n - 1 do
      if not agrees(name, dtype, out[i], x[i], y[i]) then
        wrong = wrong + 1
        print(name, x[i], y[i], out[i])
      end
    end
    print(name, wrong)
  end
end
-- expect: fmod	0
-- expect: copysign	0
-- expect: hypot	0
-- expect: atan2	0
-- expect: fmod	0
-- expect: copysign	0
-- expect: hypot	0
-- expect: atan2	0

-- The kind of a float, in a kernel and on the host.
local kinds = 0
for _, dtype in ipairs {f32, f64} do
  local x, t = from_table(dtype, points), zeros(i32, 3 * n)
  kernel("kinds", function(a, b)
    local i = threadIdx.x
    local v = a[i]
    b[3 * i] = where(isnan(v), 1, 0)
    b[3 * i + 1] = where(isinf(v), 1, 0)
    b[3 * i + 2] = where(isfinite(v), 1, 0)
  end){grid = 1, block = n}(x, t)
  for i = 0, n - 1 do
    local v = points[i + 1]
    local is = {v ~= v, v == inf or v == -inf, v - v == 0}
    local host = {isnan(v), isinf(v), isfinite(v)}
    for k = 1, 3 do
      if t[3 * i + k - 1] == (is[k] and 1 or 0) and host[k] == is[k] then kinds = kinds + 1 end
    end
  end
end
print(kinds == 6 * n)                                   -- expect: true

-- sincos has the bits of sin and cos; an integer is taken as f32.
local both = zeros(f32, 4)
kernel("both", function(t, v, i)
  local s, c = sincos(v)
  t[0], t[1] = s - sin(v), c - cos(v)
  t[2], t[3] = hypot(i, 4), fmod(i, 2)
end){grid = 1, block = 1}(both, 0.7, 3)
print(both[0], both[1], both[2], both[3])               -- expect: 0.0	0.0	5.0	1.0

-- The exact GELU, against the series of erf.
local function series(x)
  local term, sum = x, x
  for k = 1, 60 do
    term = -term * x * x / k
    sum = sum + term / (2 * k + 1)
  end
  return 2 / math.sqrt(math.pi) * sum
end
local x, g, worst = arange(f64, 33, -2.0, 0.125), zeros(f64, 33), 0
kernel("gelu", function(a, b)
  local i = threadIdx.x
  if i < size(a) then b[i] = 0.5 * a[i] * (1.0 + erf(a[i] / math.sqrt(2.0))) end
end){grid = 1, block = 64}(x, g)
for i = 0, 32 do
  worst = math.max(worst, math.abs(g[i] - 0.5 * x[i] * (1 + series(x[i] / math.sqrt(2)))))
end
print(worst < 1e-14)                                    -- expect: true

-- erfinv undoes erf, and erfc where erf is nearly 1.
local p, q, far = arange(f64, 41, -1.0, 0.05), zeros(f64, 41), 0
p[0], p[39], p[40] = -1, 1 - 2.0 ^ -53, 1
kernel("quantiles", function(a, b)
  local i = threadIdx.x
  if i < size(a) then b[i] = erfinv(a[i]) end
end){grid = 1, block = 64}(p, q)
for i = 1, 38 do far = math.max(far, math.abs(erf(q[i]) - p[i])) end
print(far < 3e-16, q[0], q[40], q[20])                  -- expect: true	-inf	inf	0.0
print(math.abs(erfc(q[39]) * 2.0 ^ 53 - 1) < 1e-13)     -- expect: true
print(erfinv(1.5) ~= erfinv(1.5))                       -- expect: true
