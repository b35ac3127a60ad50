-- selections.top_k, and sorts of rows in one block, against plain Lua: rows that fit in the list and
-- rows that do not, many equal elements, types, special values; and what is refused.
local selections = require "cuttle.selections"
local support = dofile "tests/support/selections.lua"
local refused = support.refused
local top_k = selections.top_k

-- NaN is after all numbers, and -0 is +0.
local function precedes(a, b)
  if a ~= a or b ~= b then return a == a and b ~= b end
  return a < b
end

local function order_of(list, first, n, largest)
  local order = {}
  for i = 0, n - 1 do order[i + 1] = i end
  table.sort(order, function(i, j)
    local a, b = list[first + i], list[first + j]
    if largest then a, b = b, a end
    if precedes(a, b) then return true end
    return not precedes(b, a) and i < j
  end)
  return order
end

local n_checked = 0
local function check(dtype, rows, columns, k, f)
  local values = {}
  for i = 1, rows * columns do values[i] = f(i * 2654435761 % 4294967296 >> 5) end
  local x = view(from_table(dtype, values), row_major{rows, columns})
  local list = support.list(x)
  for _, largest in ipairs{true, false} do
    local want, places = {}, {}
    for r = 0, rows - 1 do
      local order = order_of(list, r * columns + 1, columns, largest)
      for j = 1, k do
        want[#want + 1], places[#places + 1] = list[r * columns + 1 + order[j]], order[j]
      end
    end
    local got, at = top_k(x, k, {smallest = not largest})
    local difference = support.differs(got, want) or support.differs(at, places)
    n_checked = n_checked + 1
    if difference then print("DIFFERS", dtype, rows, columns, k, difference) end
  end
end

local function many(v) return v % 1000003 - 500000 end
local function few(v) return v % 7 end
local function equal() return 5 end
for _, columns in ipairs{1, 2, 100, 255, 256, 257, 511, 512, 700} do
  check(f32, 2, columns, math.min(columns, 3), many)
  check(i32, 2, columns, math.min(columns, 200), few)
end
check(u32, 1, 3000, 300, function(v) return v % 1024 * 4194304 + v % 3 end) -- long prefixes
check(f32, 2, 2500, 1, equal)
check(f32, 2, 2500, 2048, few)
check(i64, 1, 2500, 2048, function(v) return (v % 5) * (1 << 60) + v % 11 end)
check(f32, 1, 17000, 32, many)
check(f32, 2, 1100, 64, many) -- a bound by groups of threads, which leaves few elements or too many
check(f32, 1, 1101, 128, many)
check(bf16, 1, 1104, 128, few)
check(i64, 1, 1024, 5, equal)
local special <const> = {0 / 0, -(0 / 0), 0.0, -0.0, 1 / 0, -1 / 0, 1.5, -1.5}
for _, dtype in ipairs{f16, bf16, f32, f64} do
  check(dtype, 2, 600, 280, function(v) return special[v % #special + 1] end)
end
for _, dtype in ipairs{u8, i8, i16, u16} do
  check(dtype, 1, 900, 100, function(v) return v % 128 end)
end
print(n_checked)
-- expect: 70

do -- a row of one's own; sorts of rows are of the same order as those of one vector
  local x = rand(f16, row_major{3, 300})
  local got, values = selections.sort(x, selections.argsort(x), {descending = true})
  local by_top, at = top_k(x, 300)
  local same = support.differs(got, support.list(by_top)) == nil
  for r = 0, 2 do
    local one, places = selections.sort(view(tile(x, {1, 300}, {r, 0}), layout(300)),
      arange(i32, 300), {descending = true, config = {threads = 256, items = 1}})
    for j = 0, 299 do
      same = same and one[j] == got[{r, j}] and places[j] == at[{r, j}]
    end
  end
  print(same, values.shape, (top_k(arange(f32, 9), 2))[1])
end
-- expect: true	(3,300)	7.0
do
  local values, at = top_k(zeros(f32, row_major{0, 4}), 2)
  print(values:to "cpu", at:to "cpu")
end
-- expect: tensor f32 (0,2):(2,1) on cpu	tensor i32 (0,2):(2,1) on cpu

local x = ones(f32, row_major{2, 8})
print(refused(top_k, x, 9))
-- expect: top_k: k is 9, and rows have 8 elements; expected an integer from 1 to 8
print(refused(top_k, x))
-- expect: top_k: k is nil, and rows have 8 elements; expected an integer from 1 to 8
print(refused(top_k, ones(f32, 5000), 2049))
-- expect: top_k: k is 2049, and rows have 5000 elements; expected an integer from 1 to 2048
