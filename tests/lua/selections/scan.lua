-- selections.scan against plain Lua: sizes around a tile, types, operations, functions that do not
-- commute, segments in each form; the fixed order; and what is refused.
local selections = require "cuttle.selections"
local support = dofile "tests/support/selections.lua"
local refused = support.refused
local scan = selections.scan

-- The scan of a list. is_head(i) says whether a segment begins at i, counted from 0.
local function scanned(list, f, o)
  local out, sum = {}, nil
  for i, v in ipairs(list) do
    if o.is_head and o.is_head(i - 1) then sum = nil end
    local before = sum
    sum = sum == nil and v or f(sum, v)
    if not o.exclusive then
      out[i] = sum
    else
      out[i] = before == nil and o.init or o.given and f(o.init, before) or before
    end
  end
  return out
end

local n_checked = 0
local function check(what, x, how, f, options, o)
  local difference = support.differs(scan(x, how, options), scanned(support.list(x), f, o or {}))
  n_checked = n_checked + 1
  if difference then print("DIFFERS", what, difference) end
end

local add = function(a, b) return a + b end

-- {====== Sizes ======

local function whole(dtype, n)
  local list = {}
  for i = 1, n do list[i] = i * 7919 % 13 - 6 end
  return support.vector(dtype, list)
end

for _, n in ipairs{0, 1, 2, 31, 10239, 10240, 10241, 2 * 10240 + 7} do
  check(n, whole(f32, n), "add", add, {})
end
local small <const> = {threads = 64, items = 3}
for _, n in ipairs{1, 2, 3, 191, 192, 193, 1000, 40 * 192 + 5} do
  for _, fixed in ipairs{false, true} do
    check(n, whole(i32, n), "add", add, {config = small, deterministic = fixed})
    check(n, whole(i32, n), "max", math.max,
      {config = small, deterministic = fixed, exclusive = true},
      {exclusive = true, init = -0x80000000})
  end
end
print(n_checked)
-- expect: 40

-- {====== Types ======

for _, dtype in ipairs{f32, f64, i32, i64, f16, bf16, i16, i8} do
  local x = whole(dtype, 700)
  check(dtype, x, "add", add, {config = small})
  check(dtype, x, "min", math.min, {config = small})
end
print(scan(full(bool, 5, true)).dtype, scan(ones(u8, 3)).dtype, scan(ones(f16, 3)).dtype)
-- expect: i32	i32	f16
print(scan(full(u32, 3, 0x80000000), "add")[2],
  scan(full(u64, 3, -1), "min", {exclusive = true})[0])
-- expect: 2147483648	-1
print(scan(ones(f16, 3), {out = zeros(f32, 3)}).dtype)
-- expect: f32

do -- a NaN stays in the sum; min and max prefer numbers
  local x = from_table(f32, {1, 0 / 0, -0.0, 1 / 0})
  print((table.concat(scan(x):totable(), " "):gsub("-nan", "nan")))
  print(table.concat(scan(x, "max"):totable(), " "))
end
-- expect: 1.0 nan nan nan
-- expect: 1.0 1.0 1.0 inf

-- {====== Functions ======

-- Two numbers in one: a line y = m x + b mod 97 as m * 128 + b. Composition does not commute.
local function compose(p, q)
  local m = (p // 128) * (q // 128) % 97
  return m * 128 + ((q // 128) * (p % 128) + q % 128) % 97
end
for _, fixed in ipairs{false, true} do
  local lines = {}
  for i = 1, 70 * 192 + 11 do lines[i] = (i * 31 % 96 + 1) * 128 + i * 17 % 97 end
  local x = from_table(i32, lines)
  check("lines", x, compose, compose, {config = small, deterministic = fixed})
  check("lines", x, compose, compose,
    {config = small, deterministic = fixed, exclusive = true, init = 5 * 128 + 3},
    {exclusive = true, init = 5 * 128 + 3, given = true})
  check("wide lines", from_table(i64, lines), compose, compose,
    {config = small, deterministic = fixed})
end

do -- more than 1024 tiles: batches
  local x = whole(i32, 32 * 2100 + 3)
  check("batches", x, "add", add, {config = {threads = 32, items = 1}, deterministic = true})
end

-- {====== Segments ======

local offsets <const> = {0, 0, 5, 5, 190, 192, 193, 700, 700, 1500}
local head_at = {}
for _, at in ipairs(offsets) do head_at[at] = true end
local function is_head(i) return head_at[i] or false end
local flags = {}
for i = 1, 1500 do flags[i] = is_head(i - 1) and 1 or 0 end

for _, dtype in ipairs{f32, i64} do
  local x = whole(dtype, 1500)
  for _, fixed in ipairs{false, true} do
    check("offsets", x, "add", add,
      {config = small, deterministic = fixed, offsets = from_table(i32, offsets)},
      {is_head = is_head})
    check("heads", x, "add", add,
      {config = small, deterministic = fixed, heads = from_table(u8, flags), exclusive = true,
        init = 3}, {is_head = is_head, exclusive = true, init = 3, given = true})
  end
end
for _, columns in ipairs{1, 2, 100, 193, 577} do
  local x = view(whole(i32, 577 * 7), layout(577 * 7))
  local rows = 577 * 7 // columns
  check(columns, view(x, row_major{rows, columns}), "add", add, {config = small},
    {is_head = function(i) return i % columns == 0 end})
end
print(scan(ones(f32, row_major{2, 3, 4}))[{1, 2, 3}], n_checked)
-- expect: 4.0	76

-- {====== In place, prepared, empty ======

do
  local x = whole(i32, 500)
  local want = scanned(support.list(x), add, {})
  local launch, results = scan:prepare(x)
  launch()
  launch()
  print(support.differs(results[1], want) == nil)
  print(scan(zeros(f32, row_major{0, 3})).shape, scan(zeros(f32, row_major{3, 0})).shape, scan)
  print(select(2, scan:source(x)):find("atomicAdd", 1, true) ~= nil)
end
-- expect: true
-- expect: (0,3)	(3,0)	selection scan
-- expect: true

-- {====== What is refused ======

local x = ones(f32, 8)
print(refused(scan, x, "sum"))
-- expect: scan: operation 'sum'; expected 'add', 'mul', 'min', 'max', 'and', 'or', 'xor' or an associative function of two values
print(refused(scan, x, 3))
-- expect: scan: operation of type number; expected 'add', 'mul', 'min', 'max', 'and', 'or', 'xor' or an associative function of two values
print(refused(scan, x, "and"))
-- expect: scan: operation 'and' combines the bits of integers and bools, but x has floats
print(refused(scan, x, "add", {init = 1}))
-- expect: scan: init belongs to an exclusive scan; give {exclusive = true, init = value}
print(refused(scan, x, "add", {exclusive = true, init = "1"}))
-- expect: scan: init is of type string; expected a number
print(refused(scan, x, add, {exclusive = true}))
-- expect: scan: this needs the option init, the value before the first element, as the operation is a function
print(refused(scan, x, "add", {config = {threads = 48, items = 1}}))
-- expect: scan: config has threads = 48 and items = 1; expected a multiple of 32 up to 960, and 1 to 64
print(refused(scan, x, "add", {config = {threads = 32, items = 1, ahead = 3, stages = 3}}))
-- expect: scan: config has ahead = 3 and stages = 3; expected 2 to 8, and more stages than that
print(refused(scan, x, "add", {heads = zeros(u8, 8), offsets = zeros(i32, 2)}))
-- expect: scan: heads and offsets; give one of them
print(refused(scan, x, "add", {heads = zeros(u8, 7)}))
-- expect: scan: heads is (7); expected one mode of 8 elements
print(refused(scan, x, "add", {heads = zeros(f32, 8)}))
-- expect: scan: heads is f32; expected one of bool, u8, i8, i32, u32
print(refused(scan, x, "add", {offsets = zeros(i32, 0)}))
-- expect: scan: offsets is empty; expected the place of each segment's first element, and of the end
print(refused(scan, ones(f32, row_major{2, 4}), "add", {offsets = zeros(i32, 2)}))
-- expect: scan: offsets needs a tensor with one mode, but x is (2,4): its rows are segments already
print(refused(scan, ones(f32, {2, 4})))
-- expect: scan: x is (2,4):(1,2); its elements must be adjacent, and the last mode fastest: copy x into a tensor of the layout row_major{2, 4}
print(refused(scan, {1, 2}))
-- expect: scan: x is of type table; a tensor of adjacent elements was expected
print(refused(scan, x, "add", {out = zeros(f32, 9)}))
-- expect: scan: out[1] is (9); expected (8)
print(refused(scan, x, "add", {out = {x, x}}))
-- expect: scan: out is a list of 2; expected a tensor, or a list of at most 1
print(refused(scan, x, "add", {out = 3}))
-- expect: scan: out is of type number; expected a tensor, or a list of at most 1
print(refused(scan, x, "add", 3))
-- expect: scan: 3 arguments; expected at most 2, then options such as {exclusive = true}
print(refused(scan, x, {exclusiv = true}))
-- expect: scan: option 'exclusiv' is unknown; did you mean 'exclusive'?
print(refused(scan.prepare, x))
-- expect: selections: a method was called with '.'; write ':', as in selections.scan:prepare(x)
local heads = zeros(u8, 8)
print(refused(scan, zeros(u8, 8), "add", {heads = heads, out = heads}))
-- expect: scan: out[1] shares memory with heads; give out[1] memory of its own
local both = arange(i32, 16)
print(scan(view(both, 8), "add", {out = view(both, 8)})[7])
-- expect: 28
print(refused(scan, view(both, 8), "add", {out = view(both, 8, 1)}))
-- expect: scan: out[1] shares memory with x, but not element by element: it would be read after it is written; give out[1] memory of its own
print(refused(scan, view(recast(both, i16), 8), "add", {out = view(both, 8)}))
-- expect: scan: out[1] shares memory with x, but not element by element: it would be read after it is written; give out[1] memory of its own
