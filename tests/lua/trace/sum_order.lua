-- The order of sums, against an oracle: the element computed anew in plain Lua, in the order that sum_order gives
-- and rounded to f32 after each step, has the very bits. The inputs have 12 bits, so a product and one sum of f64
-- are exact.
local function round(x) return (string.unpack("f", string.pack("f", x))) end
local function inputs(n)
  local values, seed = {}, 99
  for i = 1, n do
    seed = (seed * 1103515245 + 12345) % (1 << 31)
    values[i] = ((seed >> 12) % 4096 - 2048) / (1 << ((seed >> 8) % 12))
  end
  return values
end

-- What nobody wrote is 0 in a sum and 1, alpha, in a product.
local function compute(node, data, known, start)
  if node.op == "start" then return start end
  if node.op == "leaf" then return data[node.tensor][node.offset + 1] end
  if known[node] then return known[node] end
  local v = {}
  for i, x in ipairs(node) do v[i] = compute(x, data, known, node.op == "mul" and 1 or 0) end
  local value
  if node.op == "add" then
    value = v[1] + v[2]
  elseif node.op == "fma" then
    value = v[1] * v[2] + v[3]
  elseif node.op == "mul" then
    value = v[1] * v[2]
  else
    error("no oracle for " .. node.op)
  end
  known[node] = round(value)
  return known[node]
end

local here = zeros(f32, 1).device
local function on_device(values) return from_table(f32, values):to(here) end
local function agrees(order, data, result)
  local expected = compute(order.tree, data, {}, 0)
  assert(string.pack("f", expected) == string.pack("f", result),
    ("%s: expected %a, got %a"):format(order, expected, result))
  return true
end
local function kinds(order)
  local out = {}
  for i, level in ipairs(order.levels) do
    out[i] = ("%s %s %d%s"):format(level.op, level.how, level.n,
      level.by and level.by ~= "thread" and (" %s %d"):format(level.by, level.distance) or "")
  end
  return table.concat(out, "; ")
end

local values = inputs(256)
local x = on_device(values)
local orders = {}
local function try(name, block, fn)
  local y = zeros(f32, 1):to(here)
  local launch = kernel(name, fn):prepare{grid = 1, block = block}(x, y)
  local order = sum_order(launch, {y = {0}})
  orders[#orders + 1] = order
  launch()
  print(name, order.n_terms, kinds(order), agrees(order, {x = values}, y:to("cpu")[0]))
end

try("serial", 1, function(x, y)
  local s = 0.0
  for i in range(64) do s = s + x[i] end
  y[0] = s
end)
-- expect: serial	64	add in order 64	true
try("backward", 1, function(x, y)
  local s = 0.0
  for i in range(64) do s = s + x[63 - i] end
  y[0] = s
end)
-- expect: backward	64	add in order 64	true
try("products", 1, function(x, y)
  local s = 0.0
  for i in range(64) do s = s + x[i] * x[i + 64] end
  y[0] = s
end)
-- expect: products	64	fma in order 64	true
try("butterfly", 32, function(x, y)
  local v = x[threadIdx.x]
  for _, d in ipairs{16, 8, 4, 2, 1} do v = v + shfl_xor(v, d) end
  if threadIdx.x == 0 then y[0] = v end
end)
-- expect: butterfly	32	add in pairs 2 lane 1; add in pairs 2 lane 2; add in pairs 2 lane 4; add in pairs 2 lane 8; add in pairs 2 lane 16	true
try("down", 32, function(x, y)
  local v = x[threadIdx.x]
  for _, d in ipairs{16, 8, 4, 2, 1} do v = v + shfl_down(v, d) end
  if threadIdx.x == 0 then y[0] = v end
end)
-- expect: down	32	add in pairs 2 lane 1; add in pairs 2 lane 2; add in pairs 2 lane 4; add in pairs 2 lane 8; add in pairs 2 lane 16	true
try("upward", 32, function(x, y)
  local v = x[threadIdx.x]
  for _, d in ipairs{1, 2, 4, 8, 16} do v = v + shfl_xor(v, d) end
  if threadIdx.x == 0 then y[0] = v end
end)
-- expect: upward	32	add in pairs 2 lane 16; add in pairs 2 lane 8; add in pairs 2 lane 4; add in pairs 2 lane 2; add in pairs 2 lane 1	true
try("block", 256, function(x, y)
  local s = shared(f32, 8)
  local v, w = x[threadIdx.x], threadIdx.x // 32
  for _, d in ipairs{16, 8, 4, 2, 1} do v = v + shfl_xor(v, d) end
  if threadIdx.x % 32 == 0 then s[w] = v end
  sync_threads()
  if threadIdx.x == 0 then
    local sum = 0.0
    for i in range(8) do sum = sum + s[i] end
    y[0] = sum
  end
end)
-- expect: block	256	add in order 8 warp 1; add in pairs 2 lane 1; add in pairs 2 lane 2; add in pairs 2 lane 4; add in pairs 2 lane 8; add in pairs 2 lane 16	true

-- Reflexive and symmetric; of these only the butterfly and shfl_down add alike.
for i, a in ipairs(orders) do
  for j, b in ipairs(orders) do
    local same = same_order(a, b)
    assert(same == same_order(b, a))
    assert(same == (i == j or i + j == 9 and math.abs(i - j) == 1), ("%d %d %s"):format(i, j, same))
  end
end
print(same_order(orders[1], orders[2]))
-- expect: false	the terms of x come in another order
print((select(2, same_order(orders[1], orders[4])):gsub("[^ ]*sum_order.lua", "sum_order.lua")))
-- expect: level 1: 64 terms added in order, of one thread, sum_order.lua:66; against 2 terms added in pairs, of lanes 1 apart, sum_order.lua:84

-- Atomics have no order, of one block or of many.
local add = kernel("add", function(x, y) atomic_add(y, 0, x[blockIdx.x * 32 + threadIdx.x]) end)
local order = sum_order(add{grid = 4, block = 32}, {y = {0}}, x, zeros(f32, 1):to(here))
print(order.n_terms, order.is_fixed, kinds(order), (same_order(order, order)))
-- expect: 128	false	atomics in no fixed order 128	false

-- Products: a row's order does not depend on how many rows there are if the configuration is one; on CUDA cores the
-- oracle has the bits. C is row-major, so the kernel computes its transpose: A is B there.
local K <const> = 128
local function product(m, options, dtype, at)
  local a, b = inputs(m * K), inputs(8 * K)
  local function operand(list, rows)
    local values = {}
    for k = 0, K - 1 do
      for i = 0, rows - 1 do values[#values + 1] = list[i * K + k + 1] end
    end
    return from_table(dtype, values, row_major{rows, K}):to("cpu")
  end
  local A, B, C = operand(a, m), operand(b, 8), zeros(f32, row_major{m, 8}):to("cpu")
  local run, _, steps = require "cuttle.matmul".prepare(A, B, C, options)
  run()
  local step = steps[#steps]
  local o = sum_order(step.kernel(step.launch), {C = {5, at, rank(step.args[3]) > 2 and 0 or nil}},
    table.unpack(step.args))
  return o, C[{at, 5}], a, b
end
local first
for _, m in ipairs{1, 7, 33, 130} do
  local o, c, a, b = product(m, nil, f32, m - 1)
  first = first or o
  print(m, o.n_terms, kinds(o), same_order(first, o), agrees(o, {A = b, B = a}, c))
end
-- expect: 1	128	mul on the way 1; fma in order 128	true	true
-- expect: 7	128	mul on the way 1; fma in order 128	true	true
-- expect: 33	128	mul on the way 1; fma in order 128	true	true
-- expect: 130	128	mul on the way 1; fma in order 128	true	true

-- Tensor cores: chunks of k in order. M and the tile do not matter, but the instruction does.
local function of_config(config)
  local first_of
  for _, m in ipairs{2, 40, 129} do
    local o = product(m, {config = config}, f16, m // 2)
    first_of = first_of or o
    assert(o.is_fixed and o.n_terms == K and same_order(first_of, o), tostring(o))
  end
  print(config, kinds(first_of))
  return first_of
end
local small, large = of_config "mma 64x64x64", of_config "mma 128x128x64"
-- expect: mma 64x64x64	mul on the way 1; mma in order 8
-- expect: mma 128x128x64	mul on the way 1; mma in order 8
local hopper = of_config "hopper 64x64x64"
-- expect: hopper 64x64x64	wgmma in order 8
print(same_order(small, large), (same_order(small, hopper)))
-- expect: true	false

-- Parts of K: the second kernel adds them, so the order is another.
local whole, split = product(40, nil, f32, 3), product(40, {split = 4}, f32, 3)
print(split.n_terms, kinds(split), (same_order(whole, split)))
-- expect: 4	mul on the way 1; axpby in order 4	false

-- Messages count terms as people do.
local one_more = kernel("one_more", function(x, y)
  local s = 0.0
  for j in range(threadIdx.x, size(x), 32) do s = s + x[j] end
  y[0] = warp_reduce(s, "add")
end)
print((tostring(sum_order(one_more{grid = 1, block = 32}, {y = {0}}, rand(f32, 33), zeros(f32, 1)))
  :match "1 terms? added in order, of lanes 1 apart")) -- expect: 1 term added in order, of lanes 1 apart
