-- Integers wrap around at their width; // and % round to minus infinity, as in Lua; >> is logical;
-- shifts by the width or more give 0, by a negative count go the other way.
local function wrap(v) return (v & 0xffffffff) ~ 0x80000000 end
local function i32_of(v) return wrap(v) - 0x80000000 end

local edge = {0, 1, -1, 2, -2, 3, -3, 7, -7, 255, 65536, 2147483647, -2147483648, 123456789}
local n_same = 0

-- op on all pairs, in a kernel of `dtype` and in Lua.
local function check(name, dtype, op, narrow, skip)
  local n = #edge
  local x = from_table(dtype, edge)
  local y = zeros(dtype, {n, n})
  kernel(function(x, y)
    local i, j = threadIdx.x, threadIdx.y
    if not skip or x[j] ~= 0 then y[{i, j}] = op(x[i], x[j]) end
  end){grid = 1, block = {n, n}}(x, y)
  for i = 0, n - 1 do
    for j = 0, n - 1 do
      local a, b = edge[i + 1], edge[j + 1]
      local want = skip and b == 0 and 0 or narrow(op(a, b))
      if y[{i, j}] ~= want then
        print(("%s %d %s %d is %d, expected %d"):format(dtype, a, name, b, y[{i, j}], want))
        return
      end
    end
  end
  n_same = n_same + 1
end

local function id(v) return v end
for _, case in ipairs {{i32, i32_of}, {i64, id}} do
  local dtype, narrow = case[1], case[2]
  check("+", dtype, function(a, b) return a + b end, narrow)
  check("-", dtype, function(a, b) return a - b end, narrow)
  check("*", dtype, function(a, b) return a * b end, narrow)
  check("//", dtype, function(a, b) return a // b end, narrow, true)
  check("%", dtype, function(a, b) return a % b end, narrow, true)
  check("&", dtype, function(a, b) return a & b end, narrow)
  check("|", dtype, function(a, b) return a | b end, narrow)
  check("~", dtype, function(a, b) return a ~ b end, narrow)
  check("min", dtype, function(a, b) return min(a, b) end, narrow)
  check("max", dtype, function(a, b) return max(a, b) end, narrow)
  check("unary", dtype, function(a, b) return -a + ~b end, narrow)
end
print(n_same, "operators agree on all pairs") -- expect: 22	operators agree on all pairs

-- Shifts at the width of the type: what Lua does at 64 bits.
local function shifts(dtype, width)
  local counts = {0, 1, 5, 31, 32, 63, 64, 100, -1, -5, -31, -32, -64, -100}
  local n, m = #edge, #counts
  local x, s = from_table(dtype, edge), from_table(dtype, counts)
  local left, right = zeros(dtype, {n, m}), zeros(dtype, {n, m})
  kernel("shifts", function(x, s, left, right)
    local i, j = threadIdx.x, threadIdx.y
    left[{i, j}] = x[i] << s[j]
    right[{i, j}] = x[i] >> s[j]
  end){grid = 1, block = {n, m}}(x, s, left, right)
  local mask = width == 64 and -1 or (1 << width) - 1
  local signed = width == 64 and id or i32_of
  for i = 0, n - 1 do
    for j = 0, m - 1 do
      local v, c = edge[i + 1] & mask, counts[j + 1]
      local shl = c >= width and 0 or c <= -width and 0 or c >= 0 and v << c or v >> -c
      local shr = c >= width and 0 or c <= -width and 0 or c >= 0 and v >> c or v << -c
      if left[{i, j}] ~= signed(shl) or right[{i, j}] ~= signed(shr) then
        print(("%s shift of %d by %d: %d %d, expected %d %d"):format(dtype, edge[i + 1], c,
          left[{i, j}], right[{i, j}], signed(shl), signed(shr)))
        return
      end
    end
  end
  print(dtype, "shifts agree")
end
shifts(i32, 32) -- expect: i32	shifts agree
shifts(i64, 64) -- expect: i64	shifts agree

-- Static counts and divisors take other ways through the compiler.
local x, y = from_table(i32, edge), zeros(i32, {14, 12})
local divisors = {1, 2, 3, 7, 8, -1, -2, -3, -8, 1024, 2147483647, -2147483648}
kernel("divisors", function(x, y)
  local v = x[threadIdx.x]
  for j, d in ipairs(divisors) do y[{threadIdx.x, j - 1}] = v // d * 31 + v % d end
end){grid = 1, block = 14}(x, y)
local wrong = 0
for i, v in ipairs(edge) do
  for j, d in ipairs(divisors) do
    local q = i32_of(v // d)
    if y[{i - 1, j - 1}] ~= i32_of(q * 31 + v % d) then wrong = wrong + 1 end
  end
end
print(wrong) -- expect: 0

-- Mixed types: the wider one; an integer beside a float is a float.
local out = zeros(i64, 2)
local f = zeros(f64, 2)
kernel("mixed", function(out, f, a, b, c)
  out[0] = a + b
  out[1] = a * 4 + b
  f[0] = a + c
  f[1] = b * 0.5 + c
end){grid = 1, block = 1}(out, f, 2147483647, 1 << 40, f64(0.25))
print(out[0], out[1], f[0], f[1]) -- expect: 1101659111423	1099511627772	2147483647.25	549755813888.25

-- What is put together is taken apart again, negative numbers too.
local apart = kernel("apart", function(parts, n)
  local g, c = threadIdx.x - 16, threadIdx.x % 8
  local i = g * 8 + c
  local j = n * 8 + c
  parts[{ threadIdx.x, 0 }], parts[{ threadIdx.x, 1 }] = i // 8, i % 8
  parts[{ threadIdx.x, 2 }], parts[{ threadIdx.x, 3 }] = j // 8, j % 8
end)
local parts, same = zeros(i32, { 32, 4 }), true
apart { grid = 1, block = 32 }(parts, -5)
for t = 0, 31 do
  same = same and parts[{ t, 0 }] == t - 16 and parts[{ t, 1 }] == t % 8 and parts[{ t, 2 }] == -5
    and parts[{ t, 3 }] == t % 8
end
local text = apart { grid = 1, block = 32 }:source(parts, -5):match "extern.*"
print(same, text:find("- 16) / 8", 1, true))  -- expect: true	nil
