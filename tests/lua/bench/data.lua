-- What benchmarks do with data on the device, here on the CPU engine.
local ct = require "cuttle"
package.path = "scripts/bench/?.lua;" .. package.path
local data = require "data"
local n = 20000
for _, name in ipairs{"f32", "bf16", "f8e4m3", "i8"} do
  local dtype = ct[name]
  local a, b = data.normal(dtype, n, 1), data.normal(dtype, n, 2)
  local sum, squares = 0, 0
  for i = 0, n - 1 do sum, squares = sum + a[i], squares + a[i] ^ 2 end
  local scale = name == "i8" and 16 or 1
  local mean, variance = sum / n / scale, squares / n / scale ^ 2
  local is_good = math.abs(mean) < 0.03 and math.abs(variance - 1) < 0.04 -- five deviations
  if name == "i8" then is_good = math.abs(variance - 0.95) < 0.04 end     -- truncated
  print(name, is_good)
  -- expect: f32	true
  -- expect: bf16	true
  -- expect: f8e4m3	true
  -- expect: i8	true
  local same, other = data.compare(a, a), data.compare(a, b)
  assert(same.unequal == 0 and same.relative == 0 and same.n == n)
  assert(other.unequal > 0.8 * n and math.abs(other.relative - 2 ^ 0.5) < 0.04, name)
end
-- A product that is right but for one row.
local A, B = ct.view(data.normal(ct.f32, 64 * 32, 3), ct.row_major{64, 32}),
  ct.view(data.normal(ct.f32, 16 * 32, 4), ct.row_major{16, 32})
local C = ct.tensor(ct.f32, ct.row_major{64, 16})
ct.copy(ct.reference.matmul(A, B), C)
print(data.product_error(A, B, C) < 1e-6)           -- expect: true
for j = 0, 15 do C[{5, j}] = 0 end
local e = data.product_error(A, B, C)
print(e > 0.04 and e < 0.4)                         -- expect: true
-- Bits count, not values; a NaN is seen.
local x, y = ct.zeros(ct.f16, {3, 4}), ct.zeros(ct.f16, {3, 4})
x[{1, 2}], y[{0, 0}], y[{2, 3}] = -0.0, 2.5, -1.5
local r = data.compare(x, y)
print(r.n, r.unequal, r.largest, math.abs(r.relative - 1) < 1e-9) -- expect: 12	3	2.5	true
data.poison(x)
r = data.compare(x, y)
print(x[5] ~= x[5], r.unequal, r.relative ~= r.relative)          -- expect: true	12	true
