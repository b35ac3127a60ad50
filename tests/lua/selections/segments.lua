-- selections.segment_reduce, gather and scatter_add against plain Lua: short, long and empty
-- segments, functions that do not commute, rows of several widths, indices that occur often; and
-- what is refused.
local selections = require "cuttle.selections"
local support = dofile "tests/support/selections.lua"
local refused = support.refused

local n_checked = 0
local function note(what, difference)
  n_checked = n_checked + 1
  if difference then print("DIFFERS", what, difference) end
end

local function numbers(n, f)
  local list = {}
  for i = 1, n do list[i] = f((i * 2654435761 % 4294967296) >> 7) end
  return list
end

-- {====== Reductions of segments ======

local function reduced(list, offsets, f, init)
  local out = {}
  for s = 1, #offsets - 1 do
    local all = init
    for i = offsets[s] + 1, offsets[s + 1] do all = f(all, list[i]) end
    out[s] = all
  end
  return out
end

-- A line y = m x + b mod 97 as m * 128 + b: composition does not commute; 128 is the identity.
local function compose(p, q)
  local m = (p // 128) * (q // 128) % 97
  return m * 128 + ((q // 128) * (p % 128) + q % 128) % 97
end
local function add(a, b) return a + b end

for _, offsets in ipairs{{0, 0, 1, 1, 33, 64, 65, 200, 200}, {5, 1000, 2900}, {0}, {0, 3000},
  {0, 512, 1100, 1700, 3000}} do
  local lines = numbers(3000, function(v) return (v % 96 + 1) * 128 + v % 97 end)
  local small = numbers(3000, function(v) return v % 100 end)
  local at = from_table(i32, offsets)
  for _, dtype in ipairs{i32, i64, f32, f16} do
    local list = numbers(3000, function(v) return v % 2 end)
    note(dtype, support.differs(selections.segment_reduce(from_table(dtype, list), "add",
      {offsets = at}), reduced(list, offsets, add, 0)))
  end
  note("max", support.differs(selections.segment_reduce(from_table(u8, small), "max",
    {offsets = at}), reduced(small, offsets, math.max, -0x80000000)))
  note("lines", support.differs(selections.segment_reduce(from_table(i32, lines), compose,
    {offsets = at, init = 128}), reduced(lines, offsets, compose, 128)))
end
do
  local list, flags, offsets = numbers(900, function(v) return v % 50 end), {}, {0}
  for i = 1, 900 do
    flags[i] = i * i % 37 == 3 and 1 or 0
    if flags[i] == 1 and i > 1 then offsets[#offsets + 1] = i - 1 end
  end
  offsets[#offsets + 1] = 900
  local got, count = selections.segment_reduce(from_table(i32, list), "add",
    {heads = from_table(u8, flags)})
  note("heads", count[0] ~= #offsets - 1 and "count"
    or support.differs(slice(got, 0, count[0]), reduced(list, offsets, add, 0)))
end
print(n_checked)
-- expect: 31

-- {====== Rows by their index ======

for _, columns in ipairs{1, 3, 32, 70, 136} do
  for _, dtype in ipairs{f32, i64, bf16} do
    local n_rows, n = 40, 300
    local list, by = numbers(n_rows * columns, function(v) return v % 60 end), {}
    for i = 1, n do by[i] = i % 3 == 0 and 7 or i * i % n_rows end
    local shape, index = row_major{n_rows, columns}, from_table(i32, by)
    local x = view(from_table(dtype, list), shape)
    local want = {}
    for i = 1, n do
      for c = 1, columns do want[#want + 1] = list[by[i] * columns + c] end
    end
    local rows = selections.gather(x, index)
    note("gather", support.differs(rows, want))
    local small = numbers(n * columns, function(v) return v % 2 end)
    local sums = {}
    for i, v in ipairs(list) do sums[i] = v end
    for i = 1, n do
      for c = 1, columns do
        local to = by[i] * columns + c
        sums[to] = sums[to] + small[(i - 1) * columns + c]
      end
    end
    for _, fixed in ipairs{false, true} do
      local y = view(from_table(dtype, list), shape)
      selections.scatter_add(y, index, view(from_table(dtype, small), row_major{n, columns}),
        {deterministic = fixed})
      note("scatter_add", support.differs(y, sums))
    end
  end
end
print(n_checked, selections.gather(zeros(f32, row_major{3, 2, 4}), zeros(i64, 5)).shape)
-- expect: 76	(5,2,4)

do -- in a fixed order, floats have the bits of a sum from left to right
  local list, sum = numbers(500, function(v) return v % 1000 / 7 end), 0.0
  local function rounded(v) return (string.unpack("f", string.pack("f", v))) end
  for _, v in ipairs(list) do sum = rounded(sum + rounded(v)) end
  local y = selections.scatter_add(zeros(f32, 1), zeros(i32, 500), from_table(f32, list),
    {deterministic = true})
  print(y[0] == sum)
end
-- expect: true

-- {====== What is refused ======

local x = ones(f32, row_major{4, 2})
print(refused(selections.segment_reduce, ones(f32, 4)))
-- expect: segment_reduce: expected one of the options offsets and heads
print(refused(selections.segment_reduce, x, "add", {offsets = zeros(i32, 2)}))
-- expect: segment_reduce: x is (4,2); expected one mode
print(refused(selections.segment_reduce, ones(f32, 4), compose, {offsets = zeros(i32, 2)}))
-- expect: segment_reduce: this needs the option init, the value before the first element, as the operation is a function
print(refused(selections.gather, x, zeros(f32, 3)))
-- expect: gather: index is f32; expected one of i32, i64
print(refused(selections.scatter_add, x, zeros(i32, 3), ones(f32, row_major{3, 3})))
-- expect: scatter_add: x is (3,3); expected (3,2), a row for each index
print(refused(selections.scatter_add, x, zeros(i32, 4), x))
-- expect: scatter_add: y shares memory with x; give y memory of its own
print(refused(selections.scatter_add, x, zeros(i32, 4), ones(f64, row_major{4, 2})))
-- expect: scatter_add: x is f64; expected one of f32
print(refused(selections.scatter_add, zeros(u8, 4), zeros(i32, 4), zeros(u8, 4)))
-- expect: scatter_add: y is u8; expected one of f32, f64, i32, u32, i64, u64, f16, bf16
print(refused(selections.scatter_add, x, zeros(i32, 4), ones(f32, row_major{4, 2}), {out = x}))
-- expect: scatter_add: option out: the result is argument 1, y
