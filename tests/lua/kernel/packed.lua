-- Two floats of 16 bits in a word: every function of f16x2 and bf16x2 against numbers that plain Lua
-- rounds once. A sum of doubles is made exact by its error, which decides ties.
local sorted = dofile "tests/support/sorted.lua"
local formats = {
  f16x2 = {ops = f16x2, fraction = 10, least = -24, infinity = 0x7c00},
  bf16x2 = {ops = bf16x2, fraction = 7, least = -133, infinity = 0x7f80},
}

local function value_of(F, bits)
  local sign = bits & 0x8000 ~= 0 and -1.0 or 1.0
  local exponent, m = (bits & 0x7fff) >> F.fraction, bits & (1 << F.fraction) - 1
  local top = F.infinity >> F.fraction
  if exponent == top then return m == 0 and sign * math.huge or 0 / 0 end
  if exponent == 0 then return sign * m * 2.0 ^ F.least end
  return sign * (m + (1 << F.fraction)) * 2.0 ^ (exponent - 1 + F.least)
end

-- The bits of v + lost, which is smaller than half of v's last bit.
local function round(F, v, lost)
  if v ~= v then return 0x7fff end
  local sign = (v < 0 or 1 / v < 0) and 0x8000 or 0
  if v < 0 then v, lost = -v, -lost end
  if v == math.huge then return sign | F.infinity end
  local low, high = 0, F.infinity
  while low < high - 1 do -- the patterns around v
    local middle = (low + high) // 2
    if value_of(F, middle) <= v then low = middle else high = middle end
  end
  local at = value_of(F, low)
  local step = (low >> F.fraction == 0 and 1 or 2 ^ ((low >> F.fraction) - 1)) * 2.0 ^ F.least
  local above = (v - at) * 2 - step
  if above == 0 then above = lost end
  if at == v then above = -1 end
  if above > 0 or (above == 0 and low & 1 == 1) then low = low + 1 end
  return sign | low
end

local function sum(F, a, b)
  local s = a + b
  local t = s - a
  local lost = (a - (s - t)) + (b - t)
  return round(F, s, lost == lost and lost or 0)
end

local function least(F, a, b, is_min)
  local x, y = value_of(F, a), value_of(F, b)
  if x ~= x and y ~= y then return 0x7fff end
  if x ~= x or y ~= y then return x ~= x and b or a end
  if x == y then return (a & 0x8000 ~= 0) == is_min and a or b end
  return (x < y) == is_min and a or b
end

local references = {
  add = function(F, a, b) return sum(F, value_of(F, a), value_of(F, b)) end,
  sub = function(F, a, b) return sum(F, value_of(F, a), -value_of(F, b)) end,
  mul = function(F, a, b) return round(F, value_of(F, a) * value_of(F, b), 0) end,
  fma = function(F, a, b, c)
    return sum(F, value_of(F, a) * value_of(F, b), value_of(F, c))
  end,
  min = function(F, a, b) return least(F, a, b, true) end,
  max = function(F, a, b) return least(F, a, b, false) end,
  lt = function(F, a, b) return value_of(F, a) < value_of(F, b) and 0xffff or 0 end,
  le = function(F, a, b) return value_of(F, a) <= value_of(F, b) and 0xffff or 0 end,
  gt = function(F, a, b) return value_of(F, a) > value_of(F, b) and 0xffff or 0 end,
  ge = function(F, a, b) return value_of(F, a) >= value_of(F, b) and 0xffff or 0 end,
  eq = function(F, a, b) return value_of(F, a) == value_of(F, b) and 0xffff or 0 end,
  ne = function(F, a, b) return value_of(F, a) ~= value_of(F, b) and 0xffff or 0 end,
  neg = function(_, a) return a ~ 0x8000 end,
  abs = function(_, a) return a & 0x7fff end,
  select = function(_, a, b, c) return a & b | ~a & c & 0xffff end,
}
local words = {neg = 1, abs = 1, fma = 3, select = 3}

-- Special halves beside each other, then random ones, every third term near the negated product.
local N <const> = 2048
math.randomseed(17)
local function operands(F)
  local special = {0, 0x8000, 1, 0x8001, F.infinity, F.infinity | 0x8000, F.infinity - 1,
    F.infinity + 1, 0x7fff, 1 << F.fraction, (1 << F.fraction) - 1, 0x3c00, 0x3f80, 0xbc01}
  local function half(i, n)
    if i < 2 * (#special) ^ 2 then return special[i // n % #special + 1] end
    return math.random(0, 0xffff)
  end
  local lists = {{}, {}, {}}
  for i = 0, N - 1 do
    local w = {0, 0, 0}
    for part = 0, 16, 16 do
      local a, b, c = half(i, 1), half(i, #special), half(i, 3)
      if i % 3 == 0 and i >= 2 * (#special) ^ 2 then
        c = round(F, -(value_of(F, a) * value_of(F, b)), 0)
        c = c + math.random(-2, 2) & 0xffff
      end
      w[1], w[2], w[3] = w[1] | a << part, w[2] | b << part, w[3] | c << part
    end
    for j = 1, 3 do lists[j][i + 1] = w[j] end
  end
  return lists
end

local function is_nan(F, bits) return bits & 0x7fff > F.infinity end

local function check(name, F, lists, got, op)
  for i = 1, N do
    for part = 0, 16, 16 do
      local h = {}
      for j = 1, 3 do h[j] = lists[j][i] >> part & 0xffff end
      local want, is = references[op](F, table.unpack(h)), got[i] >> part & 0xffff
      local both_nan = is_nan(F, want) and is_nan(F, is) and words[op] ~= 1
      assert(want == is or both_nan, ("%s.%s(%04x, %04x, %04x): %04x, not %04x"):format(name, op,
        h[1], h[2], h[3], is, want))
    end
  end
end

for name, F in sorted(formats) do
  local lists = operands(F)
  local x = {}
  for j = 1, 3 do x[j] = from_table(u32, lists[j]) end
  for op in sorted(references) do
    local n, y = words[op] or 2, zeros(u32, N)
    kernel("pairs", function(a, b, c, y)
      local i = blockIdx.x * blockDim.x + threadIdx.x
      local args = {a[i], b[i], c[i]}
      y[i] = F.ops[op](table.unpack(args, 1, n))
    end){grid = N // 128, block = 128}(x[1], x[2], x[3], y)
    check(name, F, lists, y:totable(), op)
  end
end
print("functions") -- expect: functions

-- Words of numbers, and numbers of words: a kernel that widens, as an element-wise one would.
local k = kernel("halves", function(x, y, z)
  local i = threadIdx.x
  local pair = recast(x, u32)
  local lo, hi = f16x2.unpack(pair[i])
  z[{i, 0}], z[{i, 1}] = lo, hi
  recast(y, u32)[i] = f16x2(lo * 2, hi + 0.25)
  z[{i, 2}] = f16x2.unpack(f16x2.fma(pair[i], f16x2(0.5), f16x2(1, -1)))
end)
local x, y, z = arange(f16, 8), zeros(f16, 8), zeros(f32, {4, 3})
k{grid = 1, block = 4}(x, y, z)
for i = 0, 3 do
  local a, b = 2.0 * i, 2.0 * i + 1
  assert(z[{i, 0}] == a and z[{i, 1}] == b and z[{i, 2}] == a / 2 + 1)
  assert(y[2 * i] == 2 * a and y[2 * i + 1] == b + 0.25)
end
print("halves") -- expect: halves

-- A pair is a value as any other: in a variable, a fragment, a shuffle, a reduction.
local sums = kernel("dot", function(a, b, y)
  local u, v = recast(a, u32), recast(b, u32)
  local acc = bf16x2(0)
  for i in range(threadIdx.x, size(u), blockDim.x) do acc = bf16x2.fma(u[i], v[i], acc) end
  acc = warp_reduce(acc, bf16x2.add)
  local lo, hi = bf16x2.unpack(acc)
  if threadIdx.x == 0 then y[0] = lo + hi end
end)
local a, b, total = ones(bf16, 256), zeros(bf16, 256), zeros(f32, 1)
for i = 0, 255 do b[i] = i % 4 end
sums{grid = 1, block = 32}(a, b, total)
print(total[0]) -- expect: 384.0
