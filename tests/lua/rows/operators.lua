-- The operators of cuttle.rows against plain Lua in double precision, and their gradients against
-- central differences: of the shapes that row_plan.lua knows, in f64, f32, f16 and bf16.
local rows = require "cuttle.rows"

local R <const> = 3
local EPSILON <const> = 1e-3

local function data(dtype, ...) return randn(dtype, row_major{...}) end

local function row_of(t, r, n)
  return table.move(t(r, _):totable(), 1, n, 0, {})
end

local function sum_of(n, f)
  local sum = 0.0
  for i = 0, n - 1 do sum = sum + f(i) end
  return sum
end

local function log_sum(x, n)
  local top = -math.huge
  for i = 0, n - 1 do top = math.max(top, x[i]) end
  return top + math.log(sum_of(n, function(i) return math.exp(x[i] - top) end))
end

-- {====== Forward ======

-- The largest difference of results to want(r)[i], or to want(r) of what a row has once.
local function worst_of(got, n, want)
  local worst = 0
  for r = 0, R - 1 do
    local wanted, row = want(r), row_of(got, r, size(got, 1))
    for i = 0, type(wanted) == "table" and n - 1 or 0 do
      local w = type(wanted) == "table" and wanted[i] or wanted
      worst = math.max(worst, math.abs(row[i] - w) / math.max(1, math.abs(w)))
    end
  end
  return worst
end

local function each(n, f)
  local out = {}
  for i = 0, n - 1 do out[i] = f(i) end
  return out
end

local function norms(dtype, n)
  local x, w, b = data(dtype, R, n), data(dtype, n), data(dtype, n)
  local y, scale = rows.rms_norm(x, w, EPSILON)
  local z, mean, inverse = rows.layer_norm(x, w, b, EPSILON)
  local function stats(r)
    local v = row_of(x, r, n)
    local m = sum_of(n, function(i) return v[i] end) / n
    local squares = sum_of(n, function(i) return v[i] ^ 2 end) / n
    local variance = sum_of(n, function(i) return (v[i] - m) ^ 2 end) / n
    return v, m, 1 / math.sqrt(squares + EPSILON), 1 / math.sqrt(variance + EPSILON)
  end
  return math.max(
    worst_of(y, n, function(r)
      local v, _, s = stats(r)
      return each(n, function(i) return v[i] * s * w[i] end)
    end),
    worst_of(scale, n, function(r) return (select(3, stats(r))) end),
    worst_of(z, n, function(r)
      local v, m, _, s = stats(r)
      return each(n, function(i) return (v[i] - m) * s * w[i] + b[i] end)
    end),
    worst_of(mean, n, function(r) return (select(2, stats(r))) end),
    worst_of(inverse, n, function(r) return (select(4, stats(r))) end))
end

local function sums(dtype, n)
  local x, target = data(dtype, R, n), zeros(i64, row_major{R, 1})
  for r = 0, R - 1 do target[{r, 0}] = r == 1 and -100 or r * 7 % n end
  local y, z = rows.softmax(x), rows.log_softmax(x)
  local loss, lse = rows.cross_entropy(x, target, -100)
  local smooth = rows.smooth_cross_entropy(x, target, 0.25, -100)
  local function of(r) return row_of(x, r, n), log_sum(row_of(x, r, n), n) end
  local function cross(r, smoothing)
    local v, l = of(r)
    local mean = sum_of(n, function(i) return v[i] end) / n
    return r == 1 and 0 or l - (1 - smoothing) * v[r * 7 % n] - smoothing * mean
  end
  return math.max(
    worst_of(y, n, function(r)
      local v, l = of(r)
      return each(n, function(i) return math.exp(v[i] - l) end)
    end),
    worst_of(z, n, function(r)
      local v, l = of(r)
      return each(n, function(i) return v[i] - l end)
    end),
    worst_of(loss, n, function(r) return cross(r, 0) end),
    worst_of(lse, n, function(r) return (select(2, of(r))) end),
    worst_of(smooth, n, function(r) return cross(r, 0.25) end))
end

-- Two distributions, of which some have no share of a column.
local function divergences(dtype, n)
  local x, up = data(dtype, R, n), data(dtype, R, n)
  if n > 2 then x[{0, 1}], up[{0, 1}], up[{1, 2}] = -math.huge, -math.huge, -math.huge end
  local function logs(t, r)
    local v = row_of(t, r, n)
    local l = log_sum(v, n)
    return each(n, function(i) return v[i] - l end)
  end
  -- The sum of exp(a) f(i) where that is not 0.
  local function expected(a, f)
    return sum_of(n, function(i) return a[i] > -math.huge and math.exp(a[i]) * f(i) or 0.0 end)
  end
  return math.max(
    worst_of(rows.kl_divergence(x, up), n, function(r)
      local p, q = logs(up, r), logs(x, r)
      return expected(p, function(i) return p[i] - q[i] end)
    end),
    worst_of(rows.entropy(x), n, function(r)
      local q = logs(x, r)
      return expected(q, function(i) return -q[i] end)
    end))
end

local function gates(dtype, n)
  local x, gate, w = data(dtype, R, n), data(dtype, R, n), data(dtype, n)
  local function sigmoid(v) return 1 / (1 + math.exp(-v)) end
  return math.max(
    worst_of(rows.geglu_tanh(gate, x), n, function(r)
      return each(n, function(i)
        local v = gate[{r, i}]
        return v * sigmoid(2 * (2 / math.pi) ^ 0.5 * (v + 0.044715 * v ^ 3)) * x[{r, i}]
      end)
    end),
    worst_of(rows.rms_norm_swiglu(x, gate, w, EPSILON), n, function(r)
      local v = row_of(x, r, n)
      local s = 1 / math.sqrt(sum_of(n, function(i) return v[i] ^ 2 end) / n + EPSILON)
      return each(n, function(i)
        return v[i] * s * w[i] * gate[{r, i}] * sigmoid(gate[{r, i}])
      end)
    end))
end

for _, case in ipairs{
  {f64, 1, 1e-6}, {f64, 3, 1e-6}, {f32, 8, 2e-6}, {f32, 33, 2e-6}, {bf16, 64, 5e-3},
  {bf16, 1000, 5e-3}, {f16, 1001, 2e-3}, {f32, 4096, 4e-6}, {bf16, 4100, 5e-3},
} do
  local dtype, n, limit = table.unpack(case)
  local all = {}
  for i, worst in ipairs{norms, sums, divergences, gates} do
    local found = worst(dtype, n)
    all[i] = found < limit or found
  end
  print(dtype, n, table.unpack(all))
end
-- expect: f64	1	true	true	true	true
-- expect: f64	3	true	true	true	true
-- expect: f32	8	true	true	true	true
-- expect: f32	33	true	true	true	true
-- expect: bf16	64	true	true	true	true
-- expect: bf16	1000	true	true	true	true
-- expect: f16	1001	true	true	true	true
-- expect: f32	4096	true	true	true	true
-- expect: bf16	4100	true	true	true	true

-- {====== Gradients ======

local function dot(a, b)
  local sum, x, y = 0.0, view(a, layout(size(a))):totable(), view(b, layout(size(b))):totable()
  for i, v in ipairs(x) do sum = sum + v * y[i] end
  return sum
end

-- The gradients of dot(dy, forward(...)) beside central differences at a few places of each input.
local function gradients(inputs, forward, backward)
  local got = {backward()}
  local worst, H <const> = 0, 1e-4
  for k, x in ipairs(inputs) do
    for _ = 1, 4 do
      local i = math.random(0, size(x) - 1)
      local old = x[i]
      x[i] = old + H
      local up = forward()
      x[i] = old - H
      local difference = (up - forward()) / (2 * H)
      x[i] = old
      worst = math.max(worst, math.abs(difference - got[k][i]))
    end
  end
  return worst < 1e-5 or worst
end

for _, n in ipairs{5, 64, 1024} do
  local x, w, b, dy = data(f64, R, n), data(f64, n), data(f64, n), data(f64, R, n)
  local target, dloss = zeros(i64, row_major{R, 1}), data(f64, R, 1)
  for r = 0, R - 1 do target[{r, 0}] = r * 3 % n end
  local up = data(f64, R, n)
  print(n,
    gradients({x, w}, function() return dot(dy, (rows.rms_norm(x, w, EPSILON))) end, function()
      local _, scale = rows.rms_norm(x, w, EPSILON)
      return rows.rms_norm_backward(dy, x, w, scale)
    end),
    gradients({x, w, b}, function() return dot(dy, (rows.layer_norm(x, w, b, EPSILON))) end,
      function()
        local _, mean, scale = rows.layer_norm(x, w, b, EPSILON)
        return rows.layer_norm_backward(dy, x, w, mean, scale)
      end),
    gradients({x}, function() return dot(dy, rows.softmax(x)) end,
      function() return rows.softmax_backward(dy, rows.softmax(x)) end),
    gradients({x}, function() return dot(dy, rows.log_softmax(x)) end,
      function() return rows.log_softmax_backward(dy, rows.log_softmax(x)) end))
  print(
    gradients({x}, function() return dot(dloss, (rows.cross_entropy(x, target, -1))) end,
      function()
        local _, lse = rows.cross_entropy(x, target, -1)
        return rows.cross_entropy_backward(dloss, x, target, lse, -1)
      end),
    gradients({x},
      function() return dot(dloss, (rows.smooth_cross_entropy(x, target, 0.3, -1))) end,
      function()
        local _, lse = rows.smooth_cross_entropy(x, target, 0.3, -1)
        return rows.smooth_cross_entropy_backward(dloss, x, target, lse, 0.3, -1)
      end),
    gradients({x, up}, function() return dot(dy, rows.swiglu(x, up)) end,
      function() return rows.swiglu_backward(dy, x, up) end),
    gradients({x, up}, function() return dot(dy, rows.geglu(x, up)) end,
      function() return rows.geglu_backward(dy, x, up) end))
  print(
    gradients({x, up}, function() return dot(dy, rows.geglu_tanh(x, up)) end,
      function() return rows.geglu_tanh_backward(dy, x, up) end),
    gradients({x, up, w}, function()
      return dot(dy, (rows.rms_norm_swiglu(x, up, w, EPSILON)))
    end, function()
      local _, scale = rows.rms_norm_swiglu(x, up, w, EPSILON)
      return rows.rms_norm_swiglu_backward(dy, x, up, w, scale)
    end),
    gradients({x}, function() return dot(dloss, (rows.kl_divergence(x, up))) end, function()
      local _, lse, teacher_lse = rows.kl_divergence(x, up)
      return rows.kl_divergence_backward(dloss, x, up, lse, teacher_lse)
    end),
    gradients({x}, function() return dot(dloss, (rows.entropy(x))) end, function()
      return rows.entropy_backward(dloss, x, rows.entropy(x))
    end))
end
-- expect: 5	true	true	true	true
-- expect: true	true	true	true
-- expect: true	true	true	true
-- expect: 64	true	true	true	true
-- expect: true	true	true	true
-- expect: true	true	true	true
-- expect: 1024	true	true	true	true
-- expect: true	true	true	true
-- expect: true	true	true	true

-- {====== The rest ======

do
  local x, residual, w = data(bf16, R, 256), data(bf16, R, 256), data(bf16, 256)
  local y, sum = rows.add_rms_norm(x, residual, w, EPSILON)
  local plain = rows.rms_norm(sum, w, EPSILON)
  print(sum[{1, 5}] == reference.cast(full(f32, 1, x[{1, 5}] + residual[{1, 5}]), bf16)[0],
    (allclose(y, plain, {rtol = 2e-2, atol = 1e-2})))
  local dy, dsum, _, scales = data(f32, R, 256), data(f32, R, 256), rows.rms_norm(sum, w, EPSILON)
  local dx, dweight = rows.rms_norm_backward(dy, sum, w, scales)
  local both, its_weight = rows.add_rms_norm_backward(dy, dsum, sum, w, scales)
  local plus = zeros(f32, row_major{R, 256})
  for i = 0, R * 256 - 1 do plus[i] = dx[i] + dsum[i] end
  print(allclose(both, plus, {atol = 1e-5}), allclose(its_weight, dweight))
  local b = data(bf16, 256)
  local centred, added, mean = rows.add_layer_norm(x, residual, w, b, EPSILON)
  print(allclose(added, sum, {rtol = 0}), (allclose(centred, rows.layer_norm(sum, w, b, EPSILON),
    {rtol = 2e-2, atol = 1e-2})))
  local own = {rows.layer_norm_backward(dy, sum, w, mean, scales)}
  local of_sum = {rows.add_layer_norm_backward(dy, dsum, sum, w, mean, scales)}
  for i = 0, R * 256 - 1 do plus[i] = own[1][i] + dsum[i] end
  print(allclose(of_sum[1], plus, {atol = 1e-5}), allclose(of_sum[2], own[2]),
    allclose(of_sum[3], own[3]))
  local q, scale = rows.quantize(x)
  local most, worst = 0, 0
  for i = 0, 255 do
    most = math.max(most, math.abs(q[{2, i}]))
    worst = math.max(worst, math.abs(q[{2, i}] * scale[{2, 0}] - x[{2, i}]) / 448 / scale[{2, 0}])
  end
  print(q.dtype, most, worst < 1 / 16)
end
-- expect: true	true
-- expect: true	true
-- expect: true	true
-- expect: true	true	true
-- expect: f8e4m3	448.0	true

do -- columns that 2 divides and 4 does not, in the registers of a block
  local x, w = data(bf16, 2, 10002), data(bf16, 10002)
  print((allclose(rows.rms_norm(x, w, EPSILON),
    rows.rms_norm(reference.cast(x, f32), w, EPSILON), {rtol = 1e-2})))
end
-- expect: true

do -- the halves of heads turn together; results in place
  local x, angle = data(f32, 2, 5, 3, 8), data(f32, 5, 1, 4)
  local cos, sin = zeros(f32, row_major{5, 1, 4}), zeros(f32, row_major{5, 1, 4})
  for i = 0, size(angle) - 1 do cos[i], sin[i] = math.cos(angle[i]), math.sin(angle[i]) end
  local first, second = tile(x, {2, 5, 3, 4}, {0, 0, 0, 0}), tile(x, {2, 5, 3, 4}, {0, 0, 0, 1})
  local a, b = first[{1, 2, 2, 3}], second[{1, 2, 2, 3}]
  local c, s = cos[{2, 0, 3}], sin[{2, 0, 3}]
  rows.rotary(first, second, cos, sin, {out = {first, second}})
  print(math.abs(x[{1, 2, 2, 3}] - (a * c - b * s)) < 1e-6,
    math.abs(x[{1, 2, 2, 7}] - (b * c + a * s)) < 1e-6)
end
-- expect: true	true

do -- the first of equals; and draws, of 3,000 rows alike
  local x = from_table(bf16, {{1, 5, 5, 2}, {0, -1, 0, 0}})
  local at, value = rows.argmax(x)
  print(at.dtype, at[{0, 0}], at[{1, 0}], value[{0, 0}])
  local p = {0.1, 0.2, 0.3, 0.4}
  local logs = zeros(f32, 4)
  for i = 0, 3 do logs[i] = 0.5 * math.log(p[i + 1]) end
  local drawn = rows.sample(view(logs, layout({3000, 4}, {0, 1})), 0.5, 7)
  local counts, again = {0, 0, 0, 0}, rows.sample(view(logs, layout({3000, 4}, {0, 1})), 0.5, 7)
  local is_same = true
  for r = 0, 2999 do
    local i = drawn[{r, 0}] + 1
    counts[i], is_same = counts[i] + 1, is_same and again[{r, 0}] == i - 1
  end
  local is_near = true
  for i = 1, 4 do is_near = is_near and math.abs(counts[i] / 3000 - p[i]) < 0.04 end
  print(is_same, is_near or table.concat(counts, " "))
end
-- expect: i32	1	0	5.0
-- expect: true	true

do -- numbers at the ends of their types, integers, NaN, and a target for each column
  local function refused(f, ...)
    print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
  end
  print(rows.softmax(full(f32, row_major{1, 2}, -3.4e38))[{0, 1}],
    rows.softmax(full(f64, row_major{1, 2}, -1e300))[{0, 1}],
    rows.softmax(zeros(i32, row_major{1, 4}))[{0, 1}])
  local at, value = rows.argmax(from_table(i64, {{1 << 40, (1 << 40) + 1}}))
  print(at[{0, 0}], value[{0, 0}], rows.argmax(from_table(f64, {{1, 1 + 1e-12}}))[{0, 0}],
    rows.argmax(from_table(bool, {{false, true}}))[{0, 0}])
  local x = from_table(f32, {{0 / 0, 1, 3}, {0 / 0, 0 / 0, 0 / 0}, {2, 5, 5}})
  at = rows.argmax(x)
  print(at[{0, 0}], at[{1, 0}], at[{2, 0}], rows.sample(x, 0.0, 1)[{0, 0}])
  refused(rows.cross_entropy, x, from_table(i32, {1, 2, 0}), -100)
end
-- expect: 0.5	0.5	0.25
-- expect: 1	1099511627777	1	1
-- expect: 2	0	1	2
-- expect: row_kernel: target has a value for each column; expected one for each row, of the shape (..., 1)
