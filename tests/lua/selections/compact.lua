-- selections.compact, positions, runs, unique and histogram against plain Lua: sizes around a tile,
-- flags of all types, functions, special values; and what is refused.
local selections = require "cuttle.selections"
local support = dofile "tests/support/selections.lua"
local refused = support.refused
local small <const> = {threads = 64, items = 2}

local n_checked = 0
local function note(what, difference)
  n_checked = n_checked + 1
  if difference then print("DIFFERS", what, difference) end
end

-- Are the first `count` elements of t those of the list, and does `count` say so?
local function differs(t, count, want)
  if count[0] ~= #want then return ("count %d, not %d"):format(count[0], #want) end
  if #want == 0 then return nil end
  return support.differs(slice(t, 0, #want), want)
end

local function random(dtype, n, f)
  local list = {}
  for i = 1, n do list[i] = f((i * 2654435761 % 4294967296) >> 7) end
  return support.vector(dtype, list), list
end

-- {====== Kept elements ======

for _, n in ipairs{0, 1, 2, 127, 128, 129, 1000, 2047, 2048, 2049} do
  for _, dtype in ipairs{f32, i64, u8} do
    local x, list = random(dtype, n, function(v) return v % 100 end)
    local flags, marks = random(u8, n, function(v) return v % 3 == 0 and 1 or 0 end)
    local want, places, large = {}, {}, {}
    for i, v in ipairs(list) do
      if marks[i] ~= 0 then want[#want + 1], places[#places + 1] = v, i - 1 end
      if v > 30 and i % 2 == 1 then large[#large + 1] = v end
    end
    local options = {config = n < 1500 and small or nil}
    local got, count = selections.compact(x, flags, options)
    note(n, differs(got, count, want))
    got, count = selections.positions(flags, options)
    note(n, differs(got, count, places))
    got, count = selections.compact(x, function(v, i) return v > 30 and i % 2 == 0 end, options)
    note(n, differs(got, count, large))
  end
end
for _, dtype in ipairs{bool, i8, u16, i16, i32, u32} do
  local is_bool = dtype == bool
  local list = {}
  for i = 1, 200 do
    list[i] = i % 5 == 0
    if not is_bool then list[i] = list[i] and 1 or 0 end
  end
  local got, count = selections.positions(from_table(dtype, list), {config = small})
  note(dtype, count[0] ~= 40 and "count" or got[1] ~= 9 and "place" or nil)
end
print(n_checked)
-- expect: 96

-- {====== Runs ======

-- NaN is NaN, and -0 is 0.
local function equals(a, b) return a == b or a ~= a and b ~= b end

local function runs_of(list)
  local values, counts = {}, {}
  for i, v in ipairs(list) do
    if i > 1 and equals(list[i - 1], v) then
      counts[#counts] = counts[#counts] + 1
    else
      values[#values + 1], counts[#counts + 1] = v, 1
    end
  end
  return values, counts
end

local function before(a, b)
  if a ~= a or b ~= b then return a == a and b ~= b end
  return a < b
end

local special <const> = {0 / 0, 0.0, -0.0, 1 / 0, -1 / 0, 1.5}
for _, n in ipairs{0, 1, 2, 127, 129, 900} do
  for _, dtype in ipairs{f32, i16, u64} do
    local is_float = dtype == f32
    local x, list = random(dtype, n, function(v)
      return is_float and special[v // 16 % 6 + 1] or v // 32 % 4
    end)
    local values, counts = runs_of(list)
    local got, lengths, count = selections.runs(x, {config = small})
    note(n, differs(got, count, values) or differs(lengths, count, counts))
    table.sort(list, before)
    values, counts = runs_of(list)
    got, lengths, count = selections.unique(x)
    local zeros_alike = {}
    for i = 1, count[0] do zeros_alike[i] = got[i - 1] + 0 end
    for i = 1, #values do values[i] = values[i] + 0 end
    note(n, differs(lengths, count, counts))
    for i = 1, #values do
      if not equals(values[i], zeros_alike[i]) then note(n, "value " .. i) end
    end
  end
end
print(n_checked)
-- expect: 132

-- {====== Histograms ======

local function histogram_of(list, n_bins, bin_of)
  local counts = {}
  for b = 1, n_bins do counts[b] = 0 end
  for _, v in ipairs(list) do
    local b = bin_of(v)
    if b then counts[b + 1] = counts[b + 1] + 1 end
  end
  return counts
end

local function even(n_bins, low, high)
  return function(v)
    if not (v >= low and v <= high) then return nil end
    return math.min(math.floor((v - low) * n_bins / (high - low)), n_bins - 1)
  end
end

for _, n in ipairs{0, 1, 5000} do
  for _, dtype in ipairs{f32, f16, i32, u8, f64} do
    local x, list = random(dtype, n, function(v) return v % 128 end)
    for _, bins in ipairs{1, 8, 64, 9000} do
      local low, high = 16, 16 + 64
      if bins == 9000 and dtype.is_float then bins = 8192 end
      note(dtype, support.differs(selections.histogram(x, bins, low, high),
        histogram_of(list, bins, even(bins, low, high))))
    end
  end
end
do
  local x = from_table(f32, {0 / 0, 1 / 0, -1 / 0, 0, 1, 2, 3, 4, 4.5, -0.0})
  print(table.concat(selections.histogram(x, 2, 0, 4):totable(), " "))
  print(table.concat(selections.histogram(x, from_table(f32, {0, 1, 1, 4})):totable(), " "))
  print(table.concat(selections.histogram(from_table(bool, {true, false, true}), 2, 0, 1):totable(),
    " "))
  print(table.concat(selections.histogram(from_table(i32, {-5, 5, 7, 9}),
    from_table(i32, {-5, 0, 7})):totable(), " "))
end
-- expect: 3 3
-- expect: 2 0 4
-- expect: 1 2
-- expect: 1 2
print(n_checked)
-- expect: 192

-- {====== What is refused ======

local x = ones(f32, 8)
print(refused(selections.compact, x))
-- expect: compact: argument 2 is nil; expected flags, or a function of an element and its place
print(refused(selections.compact, x, zeros(u8, 9)))
-- expect: compact: keep is (9); expected one mode of 8 elements
print(refused(selections.compact, ones(f32, row_major{2, 4}), zeros(u8, 8)))
-- expect: compact: x is (2,4); expected one mode: view it as layout(8)
print(refused(selections.compact, x, function(v) return v end))
-- expect: compact: keep returns a value of type number; expected a boolean, as of v > 0
print(refused(selections.positions, x))
-- expect: positions: flags is f32; expected one of bool, u8, i8, u16, i16, i32, u32
print(refused(selections.histogram, x))
-- expect: histogram: bins is nil; expected a number of even bins, or a tensor of their edges
print(refused(selections.histogram, x, 4, 2, 2))
-- expect: histogram: low is 2 and high is 2; expected the numbers between which the bins are, the lower one first, and a finite distance
print(refused(selections.histogram, x, 4, -math.huge, 2))
-- expect: histogram: low is -inf and high is 2; expected the numbers between which the bins are, the lower one first, and a finite distance
print(refused(selections.histogram, x, 4, -0x1p127, 0x1p127))
-- expect: histogram: low is -1.7014118346047e+38 and high is 1.7014118346047e+38; expected the numbers between which the bins are, the lower one first, and a finite distance
print(selections.histogram(zeros(f64, 4), 4, -0x1p127, 0x1p127)[2])
-- expect: 4
print(refused(selections.histogram, zeros(i32, 4), 4, 0.5, 2))
-- expect: histogram: low is 0.5 and high is 2, but x is i32; expected integers
print(refused(selections.histogram, x, zeros(f32, 1)))
-- expect: histogram: edges has 1 element; expected at least 2
print(refused(selections.histogram, x, zeros(i32, 3)))
-- expect: histogram: edges is i32; expected one of f32
