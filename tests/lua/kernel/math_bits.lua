-- The functions of numbers have the same bits on the host, in traces and on each engine. Of f64,
-- the host computes what kernels do; of f32, a trace folds constants on the host. If the device is a
-- GPU, both engines compute the same random numbers and are compared bit for bit.
local ones <const> = {
  {"rsqrt", rsqrt}, {"exp", exp}, {"exp2", exp2}, {"exp10", exp10}, {"expm1", expm1}, {"log", log},
  {"log2", log2}, {"log10", log10}, {"log1p", log1p}, {"sin", sin}, {"cos", cos}, {"tanh", tanh},
  {"sinh", sinh}, {"cosh", cosh}, {"asin", asin}, {"acos", acos}, {"atan", atan}, {"erf", erf},
  {"erfc", erfc}, {"erfinv", erfinv}, {"cbrt", cbrt}, {"sqrt", sqrt}, {"floor", floor},
  {"round", round}, {"rint", rint},
}
local twos <const> = {
  {"pow", function(x, y) return x ^ y end}, {"hypot", hypot}, {"atan2", atan2}, {"fmod", fmod},
  {"copysign", copysign},
}
local is_gpu <const> = device().sm ~= nil

local function same(a, b) return a ~= a and b ~= b or (a == b and 1 / a == 1 / b) end
local function count(report, list, f)
  local n = 0
  for _, row in ipairs(list) do
    local wrong = f(row[1], row[2])
    if wrong then print(("%s of %s"):format(row[1], wrong)) else n = n + 1 end
  end
  print(n, report)
end

-- {====== The host and kernels, f64 ======

local values <const> = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-3, 0.7, -0.9, 1e-310,
  -5e-324, 100.25, -745.0, 709.5, 1e300, -1e300, 1e6, -1e17, math.huge, -math.huge, 0 / 0}
local x64, n <const> = from_table(f64, values), #values
count("functions of one f64 as on the host", ones, function(name, f)
  local y = zeros(f64, n)
  kernel(name, function(x, y)
    if threadIdx.x < n then y[threadIdx.x] = f(x[threadIdx.x]) end
  end){grid = 1, block = 32}(x64, y)
  for i = 0, n - 1 do
    if not same(y[i], f(values[i + 1])) then
      return ("%a: %a on the host, %a in a kernel"):format(values[i + 1], f(values[i + 1]), y[i])
    end
  end
end)
-- expect: 25	functions of one f64 as on the host
count("functions of two f64 as on the host", {table.unpack(twos, 2)}, function(name, f)
  local y = zeros(f64, {n, n})
  kernel(name, function(x, y)
    local i, j = threadIdx.x, blockIdx.x
    if i < n then y[{i, j}] = f(x[i], x[j]) end
  end){grid = n, block = 32}(x64, y)
  for i = 0, n * n - 1 do
    local a, b = values[i % n + 1], values[i // n + 1]
    if not same(y[i], f(a, b)) then
      return ("%a, %a: %a on the host, %a in a kernel"):format(a, b, f(a, b), y[i])
    end
  end
end)
-- expect: 4	functions of two f64 as on the host

-- {====== Constants that a trace folds, f32 ======

local some <const> = {0.0, -0.0, 1.0, -1.0, 0.3, 2.5, -2.5, 1e-40, 87.3, -103.0, 1e30,
  math.huge, 0 / 0}
local function folded(name, f_at)
  local x, y, z = from_table(f32, some), zeros(f32, #some), zeros(f32, #some)
  kernel(name, function(x, y, z)
    for i = 1, #some do
      y[i - 1] = f_at(f32(some[i]))
      z[i - 1] = f_at(x[i - 1])
    end
  end){grid = 1, block = 1}(x, y, z)
  for i = 0, #some - 1 do
    if not same(y[i], z[i]) then return ("%a: %a, folded %a"):format(some[i + 1], z[i], y[i]) end
  end
end
count("functions of one f32 fold to their bits", ones, folded)
-- expect: 25	functions of one f32 fold to their bits
count("functions of two f32 fold to their bits", twos, function(name, f)
  return folded(name, function(v) return f(v, f32(2.5)) end)
    or folded(name, function(v) return f(f32(-1.7), v) end)
end)
-- expect: 5	functions of two f32 fold to their bits

-- {====== Both engines ======

-- A random number: of any bits, or between -32 and 32.
local function number(t, word, high, any)
  if t == f32 then
    return where(any, bitcast(word, f32), cast(bitcast(word, i32), f32) * 2.0 ^ -26)
  end
  local bits = cast(high, u64) << 32 | cast(word, u64)
  return where(any, bitcast(bits, f64), cast(bitcast(bits, i64), f64) * 2.0 ^ -58)
end

-- The bits of f of random numbers, on the device `where_to`.
local function bits_on(where_to, t, f, n_blocks)
  local bits = t == f32 and u32 or u64
  local nan = t == f32 and 0x7fffffff or 0x7fffffffffffffff
  local out = zeros(bits, n_blocks * 256):to(where_to)
  kernel("random", function(out)
    local i = blockIdx.x * 256 + threadIdx.x
    local a, b, c, d = rand_u32x4(17, i)
    local y = f(number(t, a, b, i % 2 == 0), number(t, c, d, i % 4 < 2))
    out[i] = where(y ~= y, bits(nan), bitcast(y, bits))
  end){grid = n_blocks, block = 256}(out)
  return out:to("cpu")
end

local all = {}
for _, row in ipairs(ones) do
  all[#all + 1] = {row[1], function(x, _) return row[2](x) end}
end
table.move(twos, 1, #twos, #all + 1, all)
local n_blocks <const> = is_gpu and 4096 or 4
for _, t in ipairs {f32, f64} do
  count(("functions of %s agree on both engines"):format(t), all, function(_, f)
    local a, b = bits_on("cpu", t, f, n_blocks), bits_on(is_gpu and "cuda" or "cpu", t, f, n_blocks)
    local equal, first = allclose(a, b, {rtol = 0, atol = 0})
    return not equal and ("%s numbers: %s"):format(t, first)
  end)
end
-- expect: 30	functions of f32 agree on both engines
-- expect: 30	functions of f64 agree on both engines
