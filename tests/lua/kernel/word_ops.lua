-- Rotations, funnel shifts, bit fields, byte_perm and dp4a against plain Lua, of values that are known
-- while tracing and of others.
local MASK = 0xffffffff
local function wrap(v) v = v & MASK return v >= 1 << 31 and v - (1 << 32) or v end
local words = {0, 1, 0x80000000, 0xffffffff, 0x12345678, 0x89abcdef, 0x7f80ff01, 0xdeadbeef}
local wides = {0, 1, -1, 1 << 63, 0x123456789abcdef0, -0x123456789abcdef0}

local function rot(v, n, bits)
  n = n % bits
  local mask = bits == 64 and -1 or MASK
  return ((v << n) | ((v & mask) >> (bits - n))) & mask
end

for _, T in ipairs{u32, i32, u64, i64} do
  local list = T.bits == 64 and wides or words
  if T == i32 then
    local signed = {}
    for i, v in ipairs(list) do signed[i] = wrap(v) end
    list = signed
  end
  local n, counts = #list, 70
  local x, y = from_table(T, list), zeros(T, {n, counts, 3})
  kernel("rotates", function(x, y)
    local i, c = blockIdx.x, threadIdx.x
    y[{i, c, 0}] = rotl(x[i], c - 3)
    y[{i, c, 1}] = rotr(x[i], c - 3)
    y[{i, c, 2}] = rotr(x[i], 7)
  end){grid = n, block = counts}(x, y)
  local mask = T.bits == 64 and -1 or MASK
  for i = 0, n - 1 do
    for c = 0, counts - 1 do
      assert(y[{i, c, 0}] & mask == rot(list[i + 1], c - 3, T.bits))
      assert(y[{i, c, 1}] & mask == rot(list[i + 1], 3 - c, T.bits))
      assert(y[{i, c, 2}] & mask == rot(list[i + 1], -7, T.bits))
    end
  end
end
print(rotl(1 << 63 | 1, 4)) -- expect: 24
assert(rotr(1, 1) == 1 << 63)

local n = #words
local w = from_table(u32, words)
local function funnel(lo, hi, c, left)
  c = c % 32
  if left then return (hi << c | lo >> (32 - c)) & MASK end
  return (lo >> c | hi << (32 - c)) & MASK
end
local y = zeros(u32, {n, n, 40, 2})
kernel("funnels", function(w, y, n)
  local lo, hi = w[threadIdx.x], w[threadIdx.y]
  for c in range(40) do
    y[{threadIdx.x, threadIdx.y, c, 0}] = funnel_shift_l(lo, hi, c)
    y[{threadIdx.x, threadIdx.y, c, 1}] = funnel_shift_r(lo, hi, c)
  end
end){grid = 1, block = {n, n}}(w, y, n)
for a = 0, n - 1 do
  for b = 0, n - 1 do
    for c = 0, 39 do
      local lo, hi = words[a + 1], words[b + 1]
      local l, r = funnel(lo, hi, c, true), funnel(lo, hi, c, false)
      assert(y[{a, b, c, 0}] & MASK == l and y[{a, b, c, 1}] & MASK == r)
      assert(funnel_shift_l(lo, hi, c) == l and funnel_shift_r(lo, hi, c) == r)
    end
  end
end
print("funnels") -- expect: funnels

-- Bit fields as the PTX ISA defines bfe and bfi.
local function field(v, at, len, signed)
  if len == 0 then return 0 end
  local top, out = math.min(at + len - 1, 31), 0
  local sign = signed and v >> top & 1 or 0
  for i = 0, 31 do
    local bit = i < len and at + i <= 31 and v >> (at + i) & 1 or sign
    out = out | bit << i
  end
  return out
end
local function insert(a, b, at, len)
  for i = 0, 31 do
    if i < len and at + i <= 31 then
      b = b & ~(1 << at + i) | (a >> i & 1) << at + i
    end
  end
  return b
end
local e = zeros(u32, {34, 34, 3})
local s = from_table(i32, {wrap(0x89abcdef)})
kernel("fields", function(w, s, e)
  local at, len = threadIdx.x, blockIdx.x
  e[{at, len, 0}] = bfe(w[5], at, len)
  e[{at, len, 1}] = u32(bfe(s[0], at, len))
  e[{at, len, 2}] = bfi(w[4], w[7], at, len)
end){grid = 34, block = 34}(w, s, e)
for at = 0, 33 do
  for len = 0, 33 do
    assert(e[{at, len, 0}] & MASK == field(0x89abcdef, at, len), at .. " " .. len)
    assert(e[{at, len, 1}] & MASK == field(0x89abcdef, at, len, true), at .. " " .. len)
    assert(e[{at, len, 2}] & MASK == insert(0x12345678, 0xdeadbeef, at, len), at .. " " .. len)
  end
end
print(bfe(0x1234, 4, 8)) -- expect: 35
print(bfi(0xff, 0, 8, 4)) -- expect: 3840

local function bytes(a, b, which)
  local all, out = b << 32 | a, 0
  for i = 0, 3 do out = out | (all >> 8 * (which >> 4 * i & 7) & 255) << 8 * i end
  return out
end
local p, selectors = zeros(u32, {n, 4}), {0x3210, 0x7531, 0x0123, 0xfedc}
kernel("bytes", function(w, p, which)
  p[{threadIdx.x, 0}] = byte_perm(w[threadIdx.x], w[7], 0x6420)
  p[{threadIdx.x, 1}] = byte_perm(w[threadIdx.x], w[7], which)
  p[{threadIdx.x, 2}] = byte_perm(w[threadIdx.x], 0x01020304, w[threadIdx.x])
end){grid = 1, block = n}(w, p, 0xfedc)
for i = 0, n - 1 do
  local v = words[i + 1]
  assert(p[{i, 0}] & MASK == bytes(v, words[8], 0x6420))
  assert(p[{i, 1}] & MASK == bytes(v, words[8], 0xfedc))
  assert(p[{i, 2}] & MASK == bytes(v, 0x01020304, v))
  for _, which in ipairs(selectors) do
    assert(byte_perm(v, words[8], which) == bytes(v, words[8], which))
  end
end
print("bytes") -- expect: bytes

local function dot4(a, b, c, sa, sb)
  for i = 0, 3 do
    local x, y = a >> 8 * i & 255, b >> 8 * i & 255
    x = sa and x > 127 and x - 256 or x
    y = sb and y > 127 and y - 256 or y
    c = c + x * y
  end
  return c & MASK
end
local d = zeros(u32, {n, n, 4})
kernel("dots", function(w, d)
  local i, j = threadIdx.x, threadIdx.y
  local a, b = w[i], w[j]
  d[{i, j, 0}] = u32(dp4a(i32(a), i32(b), -7))
  d[{i, j, 1}] = dp4a(a, b, u32(0x7fffffff))
  d[{i, j, 2}] = u32(dp4a(a, i32(b), i32(a)))
  d[{i, j, 3}] = u32(dp4a(i32(a), b, 5))
end){grid = 1, block = {n, n}}(w, d)
for i = 0, n - 1 do
  for j = 0, n - 1 do
    local a, b = words[i + 1], words[j + 1]
    assert(d[{i, j, 0}] & MASK == dot4(a, b, -7, true, true))
    assert(d[{i, j, 1}] & MASK == dot4(a, b, 0x7fffffff, false, false))
    assert(d[{i, j, 2}] & MASK == dot4(a, b, a, false, true))
    assert(d[{i, j, 3}] & MASK == dot4(a, b, 5, true, false))
  end
end
print(dp4a(0x01ff0302, 0x02010101, 10)) -- expect: 16
