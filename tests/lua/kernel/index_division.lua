-- Index arithmetic: a flat index is divided by an extent with C's own operators, by a power of two
-- with a shift and a mask, and coordinate 1 is added as plainly as coordinate 2.
local names = { "floordiv", "floormod", "unsigned" }

local function has_helper(text)
  for _, name in ipairs(names) do
    if text:find(name, 1, true) then return name end
  end
end

local flat = kernel("flat", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local row, column = i % size(x, 0), i // size(x, 0)
  if column < size(x, 1) then y[{row, column}] = x[{row, column // 2 * 2 % size(x, 1)}] end
end)
local x, y = zeros(i32, {5, 7}), zeros(i32, {5, 7})
for c = 0, 6 do for r = 0, 4 do x[{r, c}] = 10 * r + c end end
local launch = flat{grid = 2, block = 32}
launch(x, y)
print(y[{3, 5}], y[{4, 6}])                              -- expect: 34	46
print(has_helper(launch:source(x, y)) or "none")                 -- expect: none

local pairs_of = kernel("pairs_of", function(t, out)
  local i = threadIdx.x
  out[i] = t[{1, i}] + t[{2, i}]
end)
local t, out = zeros(f32, {3, 8}), zeros(f32, 8)
print(pairs_of{grid = 1, block = 8}:source(t, out):match "= (t%[[^;]+);")
-- expect: t[i * t_stride1 + 1] + t[i * t_stride1 + 2]

-- A dividend of either sign.
local floors = kernel("floors", function(v, q, r)
  local i = threadIdx.x
  q[i] = v[i] // 16
  r[i] = v[i] % 8
end)
local values = { -2147483648, -17, -16, -1, 0, 15, 16, 2147483647 }
local v, q, r = from_table(i32, values), zeros(i32, 8), zeros(i32, 8)
floors{grid = 1, block = 8}(v, q, r)
local wrong = 0
for i, value in ipairs(values) do
  if q[i - 1] ~= value // 16 or r[i - 1] ~= value % 8 then wrong = wrong + 1 end
end
print(wrong)                                             -- expect: 0
local text = floors{grid = 1, block = 8}:source(v, q, r)
print(text:match "q%[i%] = ([^;]+);", text:match "r%[i%] = ([^;]+);")
-- expect: v[i] >> 4	v[i] & 7
