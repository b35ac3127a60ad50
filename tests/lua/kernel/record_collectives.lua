-- Collectives of tables with a function of two tables, against the same function in plain Lua. The
-- function need only be associative: threads are combined in their order.
local n_wrong = 0
local function check(got, want, ...)
  if got ~= want then
    n_wrong = n_wrong + 1
    if n_wrong < 6 then print("wrong", got, want, ...) end
  end
end

-- x -> a*x + b modulo 1009, one after the other: associative, not commutative.
local function follow(p, q) return {a = p.a * q.a % 1009, b = (p.b * q.a + q.b) % 1009} end
local function map_of(i) return {a = i * 31 % 1008 + 1, b = i * 7 % 1009} end
local start = {a = 5, b = 3}

local function put(t, i, column, r) t[{i, column}], t[{i, column + 1}] = r.a, r.b end

local function expect(t, i, column, r)
  check(t[{i, column}], r.a, i, column)
  check(t[{i, column + 1}], r.b, i, column)
end

local function check_groups(t, n, size, column, scan)
  for first = 0, n - 1, size do
    local all = map_of(first)
    for i = first + 1, math.min(first + size, n) - 1 do all = follow(all, map_of(i)) end
    local so_far
    for i = first, math.min(first + size, n) - 1 do
      expect(t, i, column, all)
      expect(t, i, scan + 2, so_far and follow(start, so_far) or start)
      so_far = so_far and follow(so_far, map_of(i)) or map_of(i)
      expect(t, i, scan, so_far)
    end
  end
end

for _, n in ipairs {1, 2, 31, 32, 33, 64, 96, 100, 128, 256, 1000, 1024} do
  local t = zeros(i32, {n, 16})
  kernel("maps", function(t)
    local i = threadIdx.x
    local v = map_of(i)
    put(t, i, 0, warp_reduce(v, follow))
    put(t, i, 2, warp_scan(v, follow))
    put(t, i, 4, warp_scan(v, follow, {exclusive = true, init = start}))
    put(t, i, 6, block_reduce(v, follow))
    put(t, i, 8, (block_scan(v, follow)))
    local scan, all = block_scan(v, follow, {exclusive = true, init = start})
    put(t, i, 10, scan)
    put(t, i, 12, all)
    put(t, i, 14, warp_reduce(v, follow, 8))
  end){grid = 1, block = n}(t)
  check_groups(t, n, 32, 0, 2)
  check_groups(t, n, n, 6, 8)
  for i = 0, n - 1 do
    expect(t, i, 12, {a = t[{i, 6}], b = t[{i, 7}]})
    local w = map_of(i // 8 * 8)
    for j = i // 8 * 8 + 1, math.min(i // 8 * 8 + 8, n) - 1 do w = follow(w, map_of(j)) end
    expect(t, i, 14, w)
  end
end
print(n_wrong) -- expect: 0

-- Largest value and where it is; of equal ones the first. A list of two, f64 and a bool travel, too.
local function best(p, q)
  return {value = where(q.value > p.value, q.value, p.value),
    index = where(q.value > p.value, q.index, p.index)}
end
local function sum_and_any(p, q) return {p[1] + q[1], p[2] or q[2]} end

-- The gates of a mixture of experts: a row a block, its k largest logits in order, their softmax.
local function gate(x, experts, weights, n, k)
  local i, row = threadIdx.x, blockIdx.x
  local used, sum, top = fragment(i32, 4), 0.0, 0.0
  fill(used, -1)
  for j = 0, k - 1 do
    local value, index = f32(-math.huge), i32(2147483647)
    for e in range(i, n, blockDim.x) do
      local v, free = x[{row, e}], true
      for u = 0, j - 1 do free = free and used[u] ~= e end
      local better = free and (v > value or index == 2147483647)
      value, index = where(better, v, value), where(better, e, index)
    end
    local b = block_reduce({value = value, index = index}, function(p, q)
      local later = q.value > p.value or (q.value == p.value and q.index < p.index)
      return {value = where(later, q.value, p.value), index = where(later, q.index, p.index)}
    end)
    if j == 0 then top = b.value end
    used[j] = b.index
    local w = exp(b.value - top)
    sum = sum + w
    if i == 0 then experts[{row, j}], weights[{row, j}] = b.index, w end
  end
  for j = 0, k - 1 do
    if i == 0 then weights[{row, j}] = weights[{row, j}] / sum end
  end
end

local function check_gates(x, experts, weights, m, n, k)
  for row = 0, m - 1 do
    local order, sum = {}, 0.0
    for e = 0, n - 1 do order[e + 1] = e end
    table.sort(order, function(a, b)
      local va, vb = x[{row, a}], x[{row, b}]
      return va > vb or (va == vb and a < b)
    end)
    for j = 1, k do sum = sum + math.exp(x[{row, order[j]}] - x[{row, order[1]}]) end
    for j = 1, k do
      check(experts[{row, j - 1}], order[j], "expert", m, n, row, j)
      local w = math.exp(x[{row, order[j]}] - x[{row, order[1]}]) / sum
      check(math.abs(weights[{row, j - 1}] - w) < 1e-6, true, "weight", m, n, row, j)
    end
  end
end

local gates = kernel("gates", gate)
for _, s in ipairs {{3, 8, 2, 32}, {2, 100, 4, 64}, {2, 257, 4, 96}, {1, 4, 4, 128}} do
  local m, n, k, block = table.unpack(s)
  local x = zeros(f32, {m, n})
  for row = 0, m - 1 do
    for e = 0, n - 1 do x[{row, e}] = (e * 37 + row * 11) % 23 * 0.25 end -- many are equal
  end
  local experts, weights = zeros(i32, {m, k}), zeros(f32, {m, k})
  gates{grid = m, block = block}(x, experts, weights, n, static(k))
  check_gates(x, experts, weights, m, n, k)
end
print(n_wrong) -- expect: 0

-- Online softmax: maximum and sum of exponentials in one reduction; of empty threads, too.
local function join(p, q)
  local m = max(p.m, q.m)
  local a = where(p.d > 0.0, p.d * exp(p.m - m), 0.0)
  return {m = m, d = a + where(q.d > 0.0, q.d * exp(q.m - m), 0.0)}
end
for _, n in ipairs {1, 50, 300} do
  local x, y = zeros(f32, n), zeros(f32, n)
  for i = 0, n - 1 do x[i] = math.sin(i) * 9 end
  kernel("softmax", function(x, y, count)
    local m, d = f32(-math.huge), 0.0
    for i in range(threadIdx.x, count, blockDim.x) do
      local top = max(m, x[i])
      d = where(d > 0.0, d * exp(m - top), 0.0) + exp(x[i] - top)
      m = top
    end
    local all = block_reduce({m = m, d = d}, join)
    for i in range(threadIdx.x, count, blockDim.x) do y[i] = exp(x[i] - all.m) / all.d end
  end){grid = 1, block = 128}(x, y, n)
  local sum = 0.0
  for i = 0, n - 1 do sum = sum + math.exp(x[i]) end
  for i = 0, n - 1 do
    check(math.abs(y[i] - math.exp(x[i]) / sum) < 1e-5, true, "softmax", n, i)
  end
end
print(n_wrong) -- expect: 0

local r = zeros(f64, {96, 5})
kernel("kinds", function(r)
  local i = threadIdx.x
  local b = block_reduce({value = i * 29 % 48, index = i}, best)
  local s = block_reduce({cast(i, f64), i == 77}, sum_and_any)
  local none = block_reduce({cast(i, f64), i == 99}, sum_and_any)
  r[{i, 0}], r[{i, 1}], r[{i, 2}] = cast(b.value, f64), cast(b.index, f64), s[1]
  r[{i, 3}], r[{i, 4}] = where(s[2], 1.0, 0.0), where(none[2], 1.0, 0.0)
end){grid = 1, block = 96}(r)
print(r[{0, 0}], r[{95, 1}], r[{40, 2}], r[{1, 3}], r[{1, 4}]) -- expect: 47.0	43.0	4560.0	1.0	0.0
