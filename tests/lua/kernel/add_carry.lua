-- Sums and differences of numbers of several words, against Lua's own 64 bits.
local k32 = kernel("k32", function(a, b, s, d)
  local i = threadIdx.x
  local low, carry = add_carry(a[{ i, 0 }], b[{ i, 0 }])
  local high, over = add_carry(a[{ i, 1 }], b[{ i, 1 }], carry)
  s[{ i, 0 }], s[{ i, 1 }], s[{ i, 2 }] = low, high, where(over, u32(1), u32(0))
  local rest, borrow = sub_borrow(a[{ i, 0 }], b[{ i, 0 }])
  local top, under = sub_borrow(a[{ i, 1 }], b[{ i, 1 }], borrow)
  d[{ i, 0 }], d[{ i, 1 }], d[{ i, 2 }] = rest, top, where(under, u32(1), u32(0))
end)
local values = { 0, 1, -1, 0xffffffff, 1 << 32, 1 << 63, 0x123456789abcdef0, -2,
  0x7fffffffffffffff }
local n = #values * #values
local a, b = zeros(u32, { n, 2 }), zeros(u32, { n, 2 })
local s, d = zeros(u32, { n, 3 }), zeros(u32, { n, 3 })
local function put(t, i, v) t[{ i, 0 }], t[{ i, 1 }] = v & 0xffffffff, v >> 32 end
for i = 0, n - 1 do
  put(a, i, values[i // #values + 1])
  put(b, i, values[i % #values + 1])
end
k32{ grid = 1, block = n }(a, b, s, d)
for i = 0, n - 1 do
  local x, y = values[i // #values + 1], values[i % #values + 1]
  local sum, over = add_carry(x, y)
  assert(sum == x + y and over == math.ult(x + y, x))
  assert(s[{ i, 0 }] | s[{ i, 1 }] << 32 == sum and (s[{ i, 2 }] == 1) == over)
  local rest, under = sub_borrow(x, y)
  assert(rest == x - y and under == math.ult(x, y))
  assert(d[{ i, 0 }] | d[{ i, 1 }] << 32 == rest and (d[{ i, 2 }] == 1) == under)
  local with, beyond = add_carry(x, y, true)
  assert(with == x + y + 1 and beyond == (over or with == 0))
end
print(n) -- expect: 81
local signed = kernel("signed", function(x) x[0] = add_carry(x[0], x[1]) end)
local _, message = pcall(function() signed{ grid = 1, block = 1 }(zeros(i32, 2)) end)
print(message:match "add_carry: (.*)")
-- expect: a word without a sign expected, got i32; write cast(x, u32)
