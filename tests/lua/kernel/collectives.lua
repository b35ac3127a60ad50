-- Reductions and scans of warps and blocks of every shape, against sums made here; of fragments and
-- tensors; transform.
local function value(i) return (i * 7919) % 1009 - 300 end
local add = function(a, b) return a + b end
local last = function(a, b) return where(b ~= 0, b, a) end -- associative, not commutative

local function host_last(a, b) return b ~= 0 and b or a end

-- What each thread must get; groups of `group` threads of n.
local function reduce_by(f, n, group, get)
  local want = {}
  for first = 0, n - 1, group do
    local all = get(first)
    for i = first + 1, math.min(first + group, n) - 1 do all = f(all, get(i)) end
    for i = first, math.min(first + group, n) - 1 do want[i] = all end
  end
  return want
end

local function scan_by(f, n, group, get, init, reverse)
  local want, all = {}, nil
  for step = 0, n - 1 do
    local i = reverse and n - 1 - step or step
    local is_first = step == 0 or (reverse and i + 1 or i) % group == 0
    if is_first then all = init end
    if init ~= nil then
      want[i] = all
      all = f(all, get(i))
    else
      all = is_first and get(i) or f(all, get(i))
      want[i] = all
    end
  end
  return want
end

local n_wrong = 0
local function compare(out, column, n, want)
  for i = 0, n - 1 do
    if out[{i, column}] ~= want[i] then
      n_wrong = n_wrong + 1
      if n_wrong < 5 then print(n, column, i, out[{i, column}], want[i]) end
    end
  end
end

local function sparse(i) return i % 5 == 3 and i + 1 or 0 end
local blocks = {1, 2, 17, 32, 33, 48, 64, 96, 100, 128, 256, 991, 1024, {8, 4, 3}, {5, 5, 5}}
for _, block in ipairs(blocks) do
  local n = block
  if type(block) == "table" then n = block[1] * block[2] * block[3] end
  local out = zeros(i32, {n, 17})
  kernel("k", function(out)
    local i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)
    local v = i * 7919 % 1009 - 300
    local few = where(i % 5 == 3, i + 1, 0)
    out[{i, 0}] = warp_reduce(v, "add")
    out[{i, 1}] = warp_reduce(v, "min", 8)
    out[{i, 2}] = block_reduce(v, "max")
    out[{i, 3}] = block_reduce(v, add)
    out[{i, 4}] = warp_scan(v, "add")
    out[{i, 5}] = warp_scan(v, "xor", {exclusive = true})
    out[{i, 6}] = warp_scan(few, last)
    local scan, total = block_scan(v, "add")
    out[{i, 7}] = scan
    out[{i, 8}] = total
    out[{i, 9}] = block_scan(few, last)
    out[{i, 10}] = block_scan(few, last, {exclusive = true, init = 77})
    out[{i, 11}] = block_scan(v, "max", {exclusive = true, init = -5})
    out[{i, 12}] = warp_scan(few, last, {reverse = true})
    out[{i, 13}] = warp_scan(v, "xor", {exclusive = true, reverse = true})
    scan, total = block_scan(few, last, {reverse = true})
    out[{i, 14}] = scan
    out[{i, 15}] = total
    out[{i, 16}] = block_scan(few, last, {exclusive = true, init = 77, reverse = true})
  end){grid = 1, block = block}(out)
  local xor = function(a, b) return a ~ b end
  compare(out, 0, n, reduce_by(add, n, 32, value))
  compare(out, 1, n, reduce_by(math.min, n, 8, value))
  compare(out, 2, n, reduce_by(math.max, n, n, value))
  compare(out, 3, n, reduce_by(add, n, n, value))
  compare(out, 4, n, scan_by(add, n, 32, value))
  compare(out, 5, n, scan_by(xor, n, 32, value, 0))
  compare(out, 6, n, scan_by(host_last, n, 32, sparse))
  compare(out, 7, n, scan_by(add, n, n, value))
  compare(out, 8, n, reduce_by(add, n, n, value))
  compare(out, 9, n, scan_by(host_last, n, n, sparse))
  compare(out, 10, n, scan_by(host_last, n, n, sparse, 77))
  compare(out, 12, n, scan_by(host_last, n, 32, sparse, nil, true))
  compare(out, 13, n, scan_by(xor, n, 32, value, 0, true))
  local from_end = scan_by(host_last, n, n, sparse, nil, true)
  compare(out, 14, n, from_end)
  compare(out, 15, n, reduce_by(function(a) return a end, n, n, function() return from_end[0] end))
  compare(out, 16, n, scan_by(host_last, n, n, sparse, 77, true))
  compare(out, 11, n, scan_by(math.max, n, n, value, -5))
end
print(n_wrong)                           -- expect: 0

-- Of floats and wide integers; in a loop of the kernel, whose turns share the memory.
local f, d, l = zeros(f32, 64), zeros(f64, 64), zeros(i64, 64)
kernel("types", function(f, d, l, n)
  local i, sum = threadIdx.x, 0.0
  for k in range(n) do sum = sum + block_reduce(cast(i, f32) * k, "add") end
  f[i] = sum
  d[i] = block_scan(cast(i, f64), "min", {exclusive = true})
  l[i] = block_reduce(cast(i, i64) << 40, "or")
end){grid = 1, block = 64}(f, d, l, 4)
print(f[0], f[63], d[0], d[1], d[63], l[9] >> 40) -- expect: 12096.0	12096.0	inf	0.0	0.0	63

-- A call begins with a barrier only where an earlier one, or a turn of a loop, may still read.
local function n_barriers(f)
  local text = kernel("barriers", f){grid = 1, block = 64}:source(zeros(i32, 8), 2)
  return select(2, text:gsub("__syncthreads", ""))
end
local function total() return block_reduce(threadIdx.x, "add") end
print(n_barriers(function(y, n) y[n] = total() end),
  n_barriers(function(y, n) y[0], y[n] = total(), total() end),
  n_barriers(function(y, n) for k in range(n) do y[k] = total() end end),
  n_barriers(function(y, n) if n > 1 then y[0] = total() end end),
  n_barriers(function(y, n)
    y[0] = total()
    for k in range(n) do y[k] = total() end
  end))                                  -- expect: 1	2	2	2	3

-- Of a fragment, a tensor of static and one of run-time size.
local x, r = arange(f32, 24), zeros(f32, 8)
kernel("tensors", function(x, r)
  local t = fragment(f32, {4, 2})
  for i = 0, 7 do t[i] = x[i] + 1.0 end
  r[0], r[1] = reduce(t, "add"), reduce(t, "mul", 0.5)
  r[2] = reduce(t(_, 1), "max")
  r[3] = reduce(x, "add")
  r[4] = reduce(tile(x, 6, 2), function(a, b) return b - a end, 0.0)
  transform(t, t, function(v) return v * v end)
  transform(t, function(v) return v - 1.0 end)
  r[5] = t[7]
  transform(t(_, 0), t(_, 1), t(_, 0), max)
  r[6], r[7] = t[0], t[3]
end){grid = 1, block = 1}(x, r)
print(r[0], r[1], r[2], r[3], r[4])      -- expect: 36.0	20160.0	8.0	276.0	3.0
print(r[5], r[6], r[7])                  -- expect: 63.0	24.0	63.0

-- On the host they work on tensors, too.
local y = zeros(f32, 24)
transform(x, y, function(v) return 2 * v end)
print(reduce(y, "add"), reduce(y, "max", 100.0)) -- expect: 552.0	100.0
