-- Random tensors: the same numbers for the same seed, whatever the layout.
local A = rand(f32, {3, 4})
manual_seed(0)
local B = rand(f32, row_major{3, 4})
print(A[7] == B[7], A[{2, 1}] == B[{2, 1}])        -- expect: true	true
print(A[0], A[1])                                  -- expect: 0.56311756372452	0.73292708396912
manual_seed(0)
print(rand(f64, 2)[1])                             -- expect: 0.73292711869044
manual_seed(0)
print(randn(f64, 2)[0], randn(f32, 1).dtype)       -- expect: 0.44645225787347	f32
manual_seed(5)
local n, low, high = 10000, math.huge, -math.huge
local I = rand(i32, n)
for i = 0, n - 1 do
  low, high = math.min(low, I[i]), math.max(high, I[i])
end
print(low, high)                                   -- expect: 0	99
local J = rand(i64, n, -2, 3)
low, high = math.huge, -math.huge
for i = 0, n - 1 do
  low, high = math.min(low, J[i]), math.max(high, J[i])
end
print(low, high)                                   -- expect: -2	2
local F = rand(f32, n, 10, 12)
low, high = math.huge, -math.huge
for i = 0, n - 1 do
  low, high = math.min(low, F[i]), math.max(high, F[i])
end
print(low >= 10, high < 12, high > 11.99)          -- expect: true	true	true
local heads = 0
local T = rand(bool, n)
for i = 0, n - 1 do
  heads = heads + (T[i] and 1 or 0)
end
print(heads > 4700 and heads < 5300)               -- expect: true

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: rand: no number lies in the range from 3 to 3; expected lo < hi
try(rand, i32, 2, 3, 3)
-- expect: randn: elements of type i32 cannot be normal; expected a float type
try(randn, i32, 2)
