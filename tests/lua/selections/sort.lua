-- selections.sort and argsort against plain Lua: sizes around a tile, all types of keys, special
-- values, stability, descending order, rows, segments; and what is refused.
local selections = require "cuttle.selections"
local support = dofile "tests/support/selections.lua"
local refused = support.refused
local sort, argsort = selections.sort, selections.argsort

-- Is a before b? NaN is after all numbers, and -0 is +0. Unsigned numbers of 64 bits by math.ult.
local function precedes(a, b)
  if a ~= a or b ~= b then return a == a end
  return a < b
end

local function as_number(v) return v == true and 1 or v == false and 0 or v end

-- The places of a list's elements in order, from 0 on: of elements first to last, stably.
local function order_of(list, first, last, o)
  local order, is_less = {}, o.less or precedes
  for i = first, last do order[#order + 1] = i - 1 end
  table.sort(order, function(i, j)
    local a, b = as_number(list[i + 1]), as_number(list[j + 1])
    if o.descending then a, b = b, a end
    if is_less(a, b) and not (a ~= a and b ~= b) then return true end
    if is_less(b, a) and not (a ~= a and b ~= b) then return false end
    return i < j
  end)
  return order
end

-- The same for segments that begin after the places in `ends`.
local function order_of_segments(list, ends, o)
  local order, first = {}, 1
  for _, last in ipairs(ends) do
    table.move(order_of(list, first, last, o), 1, last - first + 1, first, order)
    first = last + 1
  end
  return order
end

local n_checked = 0
local function check(what, x, options, o)
  o = o or {}
  local list = support.list(x)
  local order = order_of_segments(list, o.ends or {#list},
    {descending = options.descending, less = o.less})
  local keys, moved = {}, {}
  for i, at in ipairs(order) do keys[i] = list[at + 1] end
  for i, at in ipairs(order) do moved[i] = o.columns and at % o.columns or at end
  local places = tensor(i32, row_major(support.extents(x)))
  for i = 0, #list - 1 do view(places, layout(#list))[i] = o.columns and i % o.columns or i end
  local got, values = sort(x, places, options)
  local difference = support.differs(got, keys) or support.differs(values, moved)
    or support.differs(sort(x, options), keys) or support.differs(argsort(x, options), moved)
  n_checked = n_checked + 1
  if difference then print("DIFFERS", what, difference) end
end

local function random(dtype, n, f)
  local list, state = {}, 12345
  for i = 1, n do
    state = (state * 1103515245 + 12345) & 0x7fffffff
    list[i] = f(state >> 8)
  end
  return support.vector(dtype, list)
end

-- {====== Sizes ======

local small <const> = {threads = 256, items = 1}
for _, n in ipairs{0, 1, 2, 33, 255, 256, 257, 1000} do
  for _, descending in ipairs{false, true} do
    check(n, random(u32, n, function(v) return v % 50 end),
      {config = small, descending = descending})
  end
end
check("a tile", random(u32, 8192, function(v) return v * 511 end), {})
check("two tiles", random(i32, 8193, function(v) return v * 511 - (1 << 31) end), {})
print(n_checked)
-- expect: 18

-- {====== Types and special values ======

for _, dtype in ipairs{u8, i8, u16, i16, u32, i32, i64} do
  local low = dtype.name:find "^i" and -(1 << (8 * dtype.bytes - 1)) or 0
  local function f(v) return low + v % 3 * (math.maxinteger >> 66 - 8 * dtype.bytes) + v % 7 end
  check(dtype, random(dtype, 700, f), {config = small})
  check(dtype, random(dtype, 700, f), {config = small, descending = true})
end
check("bool", random(bool, 600, function(v) return v % 3 == 0 end), {config = small})
check("u64", random(u64, 600, function(v) return v * 0x9e3779b97f4a7c15 end), {config = small},
  {less = math.ult})
local special <const> = {0 / 0, -(0 / 0), 0.0, -0.0, 1 / 0, -1 / 0, 1.5, -1.5, 2.0 ^ -14,
  -2.0 ^ -14}
for _, dtype in ipairs{f16, bf16, f32, f64} do
  for _, descending in ipairs{false, true} do
    check(dtype, random(dtype, 600, function(v) return special[v % #special + 1] end),
      {config = small, descending = descending})
  end
end
print(n_checked)
-- expect: 42

-- {====== Rows and segments ======

for _, shape in ipairs{{3, 1}, {1, 300}, {7, 100}, {300, 2}, {2, 257}} do
  local rows, columns = table.unpack(shape)
  local x = view(random(f32, rows * columns, function(v) return v % 40 end), row_major(shape))
  local ends = {}
  for r = 1, rows do ends[r] = r * columns end
  check("rows", x, {config = small}, {ends = ends, columns = columns})
  check("rows", x, {config = small, descending = true}, {ends = ends, columns = columns})
end
for _, dtype in ipairs{i32, i64} do -- elements outside all segments are segments of their own
  local offsets = from_table(dtype, {5, 5, 130, 131, 131, 600, 690})
  check("segments", random(i16, 700, function(v) return v % 90 - 45 end),
    {config = small, offsets = offsets}, {ends = {5, 130, 131, 600, 690, 700}})
end
print(n_checked)
-- expect: 54

do -- prepared; results of one's own; in several modes
  local x, y, v = random(f32, 600, function(n) return n end), zeros(f32, 600), zeros(i16, 600)
  local launch, results = sort:prepare(x, zeros(i16, 600), {out = {y, v}})
  launch()
  launch()
  print(results[1] == y, support.differs(y, support.list(sort(x))) == nil)
  print(sort(zeros(u8, row_major{2, 3, 4})).shape, argsort(zeros(u8, row_major{0, 4})).shape)
end
-- expect: true	true
-- expect: (2,3,4)	(0,4)

-- {====== What is refused ======

local x = ones(f32, 8)
print(refused(sort, zeros(f8e4m3, 8)))
-- expect: sort: keys is f8e4m3; expected one of bool, u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64
print(refused(sort, x, ones(f32, 7)))
-- expect: sort: values is (7), but keys is (8); expected one value for each key
print(refused(sort, x, {out = x}))
-- expect: sort: out[1] shares memory with keys; give out[1] memory of its own
print(refused(argsort, x, {out = zeros(f32, 8)}))
-- expect: argsort: out[1] is f32; expected i32
print(refused(argsort, ones(f32, row_major{2, 4}), {offsets = zeros(i32, 2)}))
-- expect: argsort: offsets needs a tensor with one mode, but keys is (2,4): its rows are segments already
print(refused(sort, x, {config = {threads = 64, items = 1}}))
-- expect: sort: config has threads = 64 and items = 1; expected a multiple of 32 from 256 to 1024, and 1 to 32
print(refused(sort, x, {offsets = ones(f32, 2)}))
-- expect: sort: offsets is f32; expected one of i32, i64
