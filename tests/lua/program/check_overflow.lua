-- check of signed integers that wrap around, with {overflow = true}: it tells of an operation if and only if its exact
-- result does not fit in its type.
local tap = dofile "tests/support/tap.lua"
local check = require "cuttle.check"
local least <const>, most <const> = math.mininteger, math.maxinteger

-- Kinds and counts of what check finds.
local function found(f, options)
  local list = {}
  local findings, _, ok, message = check.run(f, options or {overflow = true})
  assert(ok, message)
  for i, finding in ipairs(findings) do list[i] = finding.kind .. " " .. finding.count end
  return #list == 0 and "nothing" or table.concat(list, ", ")
end

local function expected(n) return n == 0 and "nothing" or "overflow " .. n end

-- {====== Law: exact arithmetic ======

-- Is r, which is a * b modulo 2^64, the product itself?
local function is_product(r, a, b)
  local turns = a == -1 and b == least or a == least and b == -1
  return b == 0 or not turns and r // b == a and r % b == 0
end

local function is_shift(a, n)
  if n <= 0 or a == 0 then return true end
  if n == 63 then return a == -1 end
  return n < 63 and is_product(a << n, a, 1 << n)
end

-- {NAME, the operation, does its exact result fit in 64 bits, that result}
local operations = {
  {"a + b", function(a, b) return a + b end,
    function(a, b) return (a ~ a + b) & (b ~ a + b) >= 0 end},
  {"a - b", function(a, b) return a - b end,
    function(a, b) return (a ~ b) & (a ~ a - b) >= 0 end},
  {"a * b", function(a, b) return a * b end, function(a, b) return is_product(a * b, a, b) end},
  {"-a", function(a) return -a end, function(a) return a ~= least end},
  {"abs(a)", function(a) return abs(a) end, function(a) return a ~= least end},
  {"a // b", function(a, b) return a // b end, function(a, b) return a ~= least or b ~= -1 end},
  {"cdiv(a, b)", function(a, b) return cdiv(a, b) end,
    function(a, b) return a ~= least or b ~= -1 end, function(a, b) return -(a // -b) end},
  {"a << b", function(a, b) return a << b end, is_shift,
    function(a, b) return b < 0 and 0 or a << b end},
}

local function edges(bits)
  local top = 1 << bits - 1
  return {-top, -top + 1, top - 1, top - 2, top >> 1, -(top >> 1), (top >> 1) - 1, -1, 0, 1, 2, 3,
    -3, 7, bits - 2, bits - 1, bits, 1 << bits // 2, -(1 << bits // 2), 100003}
end

-- Pairs of edges whose exact results fit in the type, and those whose results do not.
local function split(row, T)
  local fitting, wrapping = {}, {}
  local _, operation, fits, exact = table.unpack(row)
  for _, a in ipairs(edges(T.bits)) do
    for _, b in ipairs(edges(T.bits)) do
      local divides = row[1]:find "[/cd]" and not row[1]:find "abs"
      if not divides or b ~= 0 then
        local r = fits(a, b) and (exact or operation)(a, b)
        local bound = 1 << T.bits - 1
        local is_right = r and (T.bits == 64 or r >= -bound and r < bound)
        table.insert(is_right and fitting or wrapping, {a, b})
      end
    end
  end
  return fitting, wrapping
end

local function column(T, pairs_of, at)
  local t = zeros(T, math.max(#pairs_of, 1))
  for i, pair in ipairs(pairs_of) do t[i - 1] = pair[at] end
  return t
end

-- Lanes with lanes, each pair of its own; then one number for all threads with another.
local function check_law(row, T)
  local operation = row[2]
  local of_lanes = kernel("of_lanes", function(x, y, z, n)
    local i = blockIdx.x * 32 + threadIdx.x
    if i < n then z[i] = operation(x[i], y[i]) end
  end)
  local of_numbers = kernel("of_numbers", function(x, y, z, n)
    for i = 0, n - 1 do
      local a, b = x[i], y[i]
      if threadIdx.x < 5 then z[threadIdx.x] = operation(a, b) end
    end
  end)
  for k, list in ipairs {split(row, T)} do
    local n = #list
    local x, y, z = column(T, list, 1), column(T, list, 2), zeros(T, n + 32)
    local times = k == 2 and n or 0
    tap.is(found(function() of_lanes{grid = cdiv(n, 32) + 1, block = 32}(x, y, z, n) end),
      expected(times), ("%s of %s: %d of lanes that %s"):format(row[1], tostring(T), n,
        k == 1 and "fit" or "wrap around"))
    tap.is(found(function() of_numbers{grid = 1, block = 32}(x, y, z, n) end), expected(5 * times),
      ("%s of %s: %d of numbers"):format(row[1], tostring(T), n))
  end
end

for _, row in ipairs(operations) do
  check_law(row, i32)
  check_law(row, i64)
end

-- {====== Unsigned numbers, lanes that do not come, other options ======

local one <const> = {grid = 1, block = 32}

for _, T in ipairs {u32, u64} do
  local k = kernel("unsigned", function(x, y)
    local i = threadIdx.x
    y[i] = (x[i] + 1) * x[i] - (x[i] << 3)
  end)
  local x = full(T, 32, T == u32 and 0xFFFFFFFF or most)
  tap.is(found(function() k(one)(x, zeros(T, 32)) end), "nothing",
    tostring(T) .. " wraps around without a finding")
end

local guarded = kernel("guarded", function(x, y, n)
  local i = threadIdx.x
  local scaled = i < n and x[i] * 4 or 0
  if i < n then y[i] = scaled + x[i] * 2 end
  for j = i, i < n and i or i - 1 do y[j] = y[j] + x[j] * 3 end
end)

-- Elements from n on are too large.
local function parted(n)
  local x = full(i32, 32, 1)
  for i = n, 31 do x[i] = 1 << 30 end
  return x
end

tap.is(found(function() guarded(one)(parted(20), zeros(i32, 32), 20) end), "nothing",
  "lanes that a condition leaves out do not count")
tap.ok(found(function() guarded(one)(parted(20), zeros(i32, 32), 21) end):find "overflow" ~= nil,
  "one more does")

local sum = kernel("sum", function(x, y) y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x] end)
local large <const> = full(i32, 32, 1 << 30)
tap.is(found(function() sum(one)(large, zeros(i32, 32)) end, {}), "nothing",
  "without the option nothing is told")
tap.ok(not pcall(sum{grid = 1, block = 32, check = {overflow = true}}, large, zeros(i32, 32)),
  "the launch option tells, too")
sum{grid = 1, block = 32, check = true}(large, zeros(i32, 32))
tap.is(found(function()
  sum(one)(large, zeros(i32, 32))
  sum{grid = 1, block = 32, check = true}(large, zeros(i32, 32))
end), "overflow 64", "a kernel that was launched without it before")

local seen = check.run(function() sum(one)(large, zeros(i32, 32)) end, {overflow = true})[1]
tap.is(seen.message, "overflow: 1073741824 + 1073741824 does not fit in i32 and became "
  .. "-2147483648, by thread (0,0,0) of block (0,0,0); compute in i64, or u32 if it is to wrap "
  .. "around", "message")

-- {====== Sums ======

-- A kernel that adds up x: launched with numbers whose sum fits, and with numbers whose sum does not.
local function check_sums(name, f, T, n)
  local k = kernel("sums", f)
  local top = (1 << T.bits - 1) - 1
  local function launch(each)
    return found(function() k(one)(full(T, 32, each), zeros(T, 64)) end)
  end
  local wraps = launch(top // n + 1)
  tap.is(launch(top // n), "nothing", name .. " of " .. tostring(T) .. " that fits")
  tap.ok(wraps:find "^overflow %d+$" ~= nil, name .. " of " .. tostring(T) .. " that does not",
    wraps)
end

local function whole_warp(x, y)
  y[threadIdx.x] = warp_reduce(x[threadIdx.x], "add", {mask = 0xFFFFFFFF})
end

for _, T in ipairs {i32, i64} do
  check_sums("atomic_add", function(x, y) atomic_add(y, 0, x[threadIdx.x]) end, T, 32)
  check_sums("warp_reduce", function(x, y) y[threadIdx.x] = warp_reduce(x[threadIdx.x], "add") end,
    T, 32)
  check_sums("warp_reduce of a mask", whole_warp, T, 32)
  check_sums("warp_scan", function(x, y)
    y[threadIdx.x] = warp_scan(x[threadIdx.x], "add")
  end, T, 32)
  check_sums("block_reduce", function(x, y)
    y[threadIdx.x] = block_reduce(x[threadIdx.x], "add")
  end, T, 32)
  check_sums("a loop", function(x, y)
    local s = T(0)
    for i = 0, size(x) - 1 do s = s + x[i] end
    y[threadIdx.x] = s
  end, T, 32)
  check_sums("reduce", function(x, y) y[threadIdx.x] = reduce(x, "add") end, T, 32)
  check_sums("axpby", function(x, y)
    axpby(2, tile(x, {1}, {threadIdx.x}), 1, tile(y, {1}, {threadIdx.x}))
  end, T, 2)
  check_sums("gemm", function(x, y)
    if threadIdx.x == 0 then
      local a, b, c = fragment(T, {2, 4}), fragment(T, {2, 4}), fragment(T, {2, 2})
      fill(a, 1)
      fill(b, x[0])
      fill(c, 0)
      gemm(a, b, c)
      y[0] = c[{1, 1}]
    end
  end, T, 4)
end

local dots = kernel("dots", function(x, y)
  y[threadIdx.x] = dp4a(i32(0x01010101), i32(0x01010101), x[threadIdx.x])
end)
local function dots_of(c)
  return found(function() dots(one)(full(i32, 32, c), zeros(i32, 32)) end)
end
tap.is(dots_of(0x7FFFFFFF - 4), "nothing", "dp4a that fits")
tap.is(dots_of(0x7FFFFFFF - 3), "overflow 32", "dp4a that does not")

-- A tensor core adds eight bits at a time to sums of 32.
local mma <const> = tiled_mma("SM80_16x8x32_S32S8S8S32_TN", layout({1, 1, 1}))
local products = kernel("products", function(x, y)
  local t = mma:get_slice(threadIdx.x)
  local a, b = t:partition_fragment_A({16, 32}), t:partition_fragment_B({8, 32})
  local c = t:partition_fragment_C({16, 8})
  fill(a, 2)
  fill(b, -3)
  fill(c, x[0])
  gemm(mma, a, b, c)
  y[threadIdx.x] = c[0]
end)
local function products_of(c)
  return found(function() products(one)(full(i32, 32, c), zeros(i32, 32)) end)
end
tap.is(products_of(-0x80000000 + 6 * 32), "nothing", "an MMA that fits")
tap.is(products_of(-0x80000000 + 6 * 32 - 1), "overflow 128", "an MMA that does not")

-- Threads that a scan does not need add up numbers that nobody asked for.
local scans = kernel("scans", function(x, y)
  local v = x[threadIdx.x]
  y[threadIdx.x] = block_scan(v, "add") + block_reduce(v, "add")
end)
for _, n in ipairs {20, 32, 40, 64, 96} do
  local x = zeros(i32, n)
  x[n - 1] = 1 << 30 -- twice that does not fit
  tap.is(found(function() scans{grid = 1, block = n}(x, zeros(i32, n)) end), "overflow 1",
    "only the sum of the last thread of " .. n)
end

-- The same of records and exclusive scans: all sums that somebody asked for fit.
local function add_records(p, q) return {a = p.a + q.a, b = max(p.b, q.b)} end
local records = kernel("records", function(x, y)
  local v = x[threadIdx.x]
  local r, s = block_reduce({a = v, b = 1}, add_records), block_scan({a = v, b = 1}, add_records)
  local e = warp_scan(v, "add", {exclusive = true, init = 0})
  y[threadIdx.x] = r.a ~ s.a ~ e ~ block_scan(v, "add", {exclusive = true})
end)
for _, n in ipairs {20, 40, 96} do
  local report = {}
  for _, at in ipairs {0, n // 2, n - 2, n - 1} do
    local x = zeros(i32, n)
    x[at], x[(at + 5) % n] = -(1 << 30) - 1, -(1 << 30) + 1
    table.insert(report, found(function() records{grid = 1, block = n}(x, zeros(i32, n)) end))
  end
  tap.is(table.concat(report, " "), "nothing nothing nothing nothing",
    "sums of " .. n .. " threads that fit")
end

tap.done()
