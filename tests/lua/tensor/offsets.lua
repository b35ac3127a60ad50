-- view(t, layout, offset) and slice(t, first, last): parts of memory at an offset, which share its elements.
local a = arange(f32, 12)
print(view(a, {2, 2}, 4))
-- expect: tensor f32 (2,2):(1,2) on cpu
-- expect:     4    6
-- expect:     5    7
print(slice(a, 9))
-- expect: tensor f32 3:1 on cpu
-- expect:     9   10   11
a:slice(0, 3)[1] = 50
print(a[1], view(a, 1, 1)[0])                             -- expect: 50.0	50.0
print(slice(a, 12).shape, slice(a, 5, 5).shape)           -- expect: 0	0
a[1] = 1

-- The laws: element i of a part is an element of the whole, also of parts of parts and of other strides.
manual_seed(3)
local function below(n) return math.random(0, n - 1) end
local n_wrong = 0
for _ = 1, 200 do
  local stride, n = 1 + below(3), 1 + below(12)
  local whole = view(arange(i32, 64), layout(n, stride), below(8))
  local first = below(n + 1)
  local last = first + below(n - first + 1)
  local part = slice(whole, first, last)
  n_wrong = n_wrong + (size(part) == last - first and 0 or 1)
  for i = 0, size(part) - 1 do n_wrong = n_wrong + (part[i] == whole[first + i] and 0 or 1) end
  local rest = slice(part, size(part) // 2)
  for i = 0, size(rest) - 1 do
    n_wrong = n_wrong + (rest[i] == part[size(part) // 2 + i] and 0 or 1)
  end
  local k = below(32)
  local square = view(slice(arange(i32, 64), 2), row_major{3, 4}, k)
  n_wrong = n_wrong + (square[{2, 3}] == 2 + k + 11 and 0 or 1)
end
print(n_wrong)                                            -- expect: 0

-- In a kernel, offsets may be run-time values; a swizzled view begins at an offset as well.
local parts = kernel("parts", function(x, y, n, m)
  local s = shared(f32, 128)
  local i = threadIdx.x
  local A, B = view(s, {4, 8}), view(s, composition(swizzle(2, 0, 3), "(4,8):(8,1)"), 64)
  A[i], B[i] = x[i], 10 * x[i]
  sync_threads()
  y[i] = slice(s, n, n + 8)[i % 8] + view(s, 32, m)[i] + slice(slice(x, n), 1)[0]
  if i == 0 then y[32] = size(slice(x, n)) end
end)
local x, y = arange(f32, 32), zeros(f32, 33)
parts{grid = 1, block = 32}(x, y, 3, 64)
local right = y[32] == 29
local inside = {}
for j = 0, 31 do inside[composition(swizzle(2, 0, 3), "(4,8):(8,1)")(j)] = 10.0 * j end
for i = 0, 31 do right = right and y[i] == 3 + i % 8 + inside[i] + 4 end
print(right)                                              -- expect: true
parts{grid = 1, block = 32}(x, y, 4, 32)
print(y[32])                                              -- expect: 28.0

-- The engine looks at each access, whatever the offset.
print((select(2, pcall(parts{grid = 1, block = 32}, x, y, 4, 97)):gsub("^.-: ", "")))
-- expect: out of bounds: read of s at 128, extent 128, by thread (31,0,0) of block (0,0,0)
print((select(2, pcall(parts{grid = 1, block = 32}, x, y, -9, 32)):gsub("^.-: ", "")))
-- expect: out of bounds: read of s at -9, extent 128, by thread (0,0,0) of block (0,0,0)
