-- row_kernel at its edges: results in place, rows and columns of 0, types of results, names of
-- parameters, what changes between calls; and which mistakes it refuses.

local x = from_table(f32, {{1, 2, 3, 4}, {5, 6, 7, 9}})
local less = row_kernel("less", function(row, a) return a - row:sum(a) end)

-- {====== Results in place ======

for _, extents in ipairs{{2, 4}, {3, 3}, {5, 1000}, {2, 70000}, {2, 70001}} do
  local y = rand(f32, row_major(extents))
  local want = less(y)
  print(less:explain(y).shape, allclose(less(y, {out = y, check = not device().sm}), want,
    {atol = 1e-2}))
end
-- expect: warp	true
-- expect: warp	true
-- expect: block	true
-- expect: resident	true
-- expect: cluster	true

do -- sums of columns are stored behind all rows, so they may replace what all rows have
  local k = row_kernel("k", function(row, a, w) return a * w, row:column_sum(a * w) end)
  local w = ones(f32, 4)
  k(x, w, {out = {zeros(f32, row_major{2, 4}), w}})
  print(w[0], w[3])
end
-- expect: 6.0	13.0

-- {====== Rows and columns of 0 ======

local all = row_kernel("all", function(row, a)
  return a, row:once(row:sum(a)), row:column_sum(a)
end)
do
  local y, sum, columns = all(zeros(f32, row_major{0, 3}), {out = {zeros(f32, row_major{0, 3}),
    zeros(f32, row_major{0, 1}), full(f32, 3, 7.0)}})
  print(y.shape, sum.shape, columns[0], columns[2])
  print(less(zeros(f32, row_major{3, 0})).shape)
  local launch, results = all:prepare(zeros(f32, row_major{0, 3}))
  launch()
  print(results[3][1])
end
-- expect: (0,3)	(0,1)	0.0	0.0
-- expect: (3,0)
-- expect: 0.0

-- {====== Types, names and upvalues ======

print(row_kernel(function(row, a, w) return a * w end)(ones(f16, row_major{2, 1}), ones(f32, 3))
  :to("cpu"))
-- expect: tensor f16 (2,3):(3,1) on cpu
-- expect:     1    1    1
-- expect:     1    1    1
do
  local k = row_kernel(function(row, a) return row:once(row:min(a)), row:once(row:max(a)) end)
  local least, most = k(full(u64, row_major{2, 3}, -1))
  print(least[{1, 0}] == -1, most[{1, 0}] == -1)
  print(row_kernel(function(_, _, a, _) return a end)(1.0, x, 2.0)[{1, 3}])
  print(row_kernel(function(row, a, s, t) return row:at("s", 0) + row:at("t", 0) end)(
    x, 2.0, ones(f32, row_major{2, 1}))[{1, 3}])
end
-- expect: true	true
-- expect: 9.0
-- expect: 3.0

print(row_kernel("scaled", function(row, a, w) return a * w end))
-- expect: row_kernel scaled(a, w)

-- {====== What is refused ======

local function refused(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local reversed = row_kernel("reversed", function(row, a)
  return row:at("a", row:length() - 1 - row:column())
end)
refused(reversed, x, {out = x})
-- expect: reversed: out[1] takes the place of a, of which row:at reads other elements: they would be read after they are written; give out[1] memory of its own
local flat = arange(f32, 16)
refused(less, view(flat, row_major{2, 4}), {out = view(flat, layout({2, 4}, {8, 1}))})
-- expect: less: out[1] shares memory with a, but not element by element: it would be read after it is written; give out[1] memory of its own
refused(less, x, {out = view(zeros(f32, 4), layout({2, 4}, {0, 1}))})
-- expect: less: out[1] is (2,4):(0,1): elements share memory, so they cannot hold different results
local two = row_kernel("two", function(row, a) return a, 2.0 * a end)
local y = zeros(f32, row_major{2, 4})
refused(two, x, {out = {y, y}})
-- expect: two: out[2] shares memory with out[1]; give out[2] memory of its own
refused(less, x, {out = 3})
-- expect: less: out is of type number; expected a tensor, or a list of them
refused(less, nil)
-- expect: less: a is nil, perhaps a misspelt name; expected a tensor (..., columns), or a number
refused(less, {1, 2, 3})
-- expect: less: a is of type table; a tensor (..., columns), or a number was expected
refused(all, zeros(f32, row_major{3, 0}))
-- expect: all: rows have 0 columns, so there is no element of which result 2 could be computed; expected at least 1
refused(require "cuttle.rows".quantize_mxfp4, ones(f32, row_major{2, 33}))
-- expect: quantize_mxfp4: rows have 33 columns; two elements of f4e2m1 share a byte, so give them an even number
refused(less.prepare, x)
-- expect: row_kernel: a method was called with '.'; write ':', as in k:prepare(x)
refused(row_kernel, "k", function(row) return 1.0 end)
-- expect: row_kernel: the function has 1 parameter; expected one for the row and one for each argument, as in function(row, x, weight)
refused(row_kernel, "k", function(...) return 1.0 end)
-- expect: row_kernel: the function has '...' for parameters; expected one for the row and one for each argument, as in function(row, x, weight)
refused(row_kernel, "a-b", function(row, a) return a end)
-- expect: row_kernel: the name is 'a-b'; letters, digits and '_' were expected
refused(row_kernel, function(row, a) return a end, {types = {"f16"}})
-- expect: row_kernel: types[1] is of type string; expected an element type such as f16
refused(row_kernel, function(row, a) return a end, {types = f16})
-- expect: row_kernel: option types is of type dtype; expected a list such as {f16}
refused(row_kernel("k", function(row, a) return a end, {types = {f16, f32}}), x)
-- expect: k: types[2] is f32, but the function returns 1 value

local function of(f) return function() return row_kernel("k", f)(x) end end
refused(of(function(row, a) if a > 2.0 then return a - row:sum(a) end return a end))
-- expect: row_kernel: a reduction under a run-time condition or in a run-time loop: all threads of a row must reach it alike; call it before, and choose with where(condition, a, b)
refused(of(function(row, a) local v = 0.0 if a > 2.0 then v = row:keep(a) end return v end))
-- expect: row_kernel: row:keep under a run-time condition or in a run-time loop: all threads of a row must reach it alike; call it before, and choose with where(condition, a, b)
refused(of(function(row, a) return a - row.sum(a) end))
-- expect: row_kernel: a method of the row was called with '.'; write ':', as in row:sum(x)

do -- every method says so
  local silent = {}
  for _, name in ipairs(require "cuttle.row_methods".names) do
    local k = row_kernel("k", function(row, x) return row[name](1, x, 1.0) end)
    local message = select(2, pcall(k, ones(f32, {2, 4})))
    if not message:find("called with '.'", 1, true) then silent[#silent + 1] = name end
  end
  print("silent: " .. table.concat(silent, " "))
end
-- expect: silent:
refused(of(function(row, a) return a - row:sum() end))
-- expect: row_kernel: a reduction without values, as in row:sum()
refused(of(function(row, a) return row:at(a, 0) end))
-- expect: row_kernel: row:at's argument 1 is of type number; expected an argument's name, as in row:at("x", column)
refused(of(function(row, a) return {a, a} end))
-- expect: row_kernel: value 1 that the function returns is of type table; expected a number
refused(of(function(row, a) return row:once() end))
-- expect: row_kernel: row:once's argument is of type nil; expected a number

do -- what is returned may not change with upvalues
  local has_sum = false
  local k = row_kernel("k", function(row, a)
    if has_sum then return a, row:once(row:sum(a)) end
    return a
  end)
  k(x)
  has_sum = true
  refused(k, x)
end
-- expect: row_kernel: k returns 2 values, other ones than when it was first called for such arguments (1); make one row_kernel for each

do -- what a loss picks is among the numbers of the first reduction if threads have few elements:
   -- so it is read before that. An element of -inf, and rows of nothing else, change nothing.
  local rows = require "cuttle.rows"
  for _, n in ipairs{1024, 4096, 131072} do
    local scores, target = randn(bf16, row_major{4, n}), zeros(i64, row_major{4, 1})
    for r = 0, 3 do target[{r, 0}] = r == 2 and -100 or (n // 4) * r + 5 end
    scores[{1, n // 4 + 5}] = -math.huge
    for i = 0, n - 1 do scores[{3, i}] = -math.huge end
    local loss, lse = rows.cross_entropy(scores, target, -100)
    local text, right = rows.cross_entropy:source(scores, target, -100), true
    local first = text:find("__shfl", text:find "__global__", true)
    for r = 0, 3 do
      local top, sum = -math.huge, 0
      for i = 0, n - 1 do top = math.max(top, scores[{r, i}]) end
      for i = 0, n - 1 do sum = sum + (r == 3 and 0 or math.exp(scores[{r, i}] - top)) end
      local whole = top + math.log(sum)
      right = right and (r == 3 and lse[{r, 0}] == whole or math.abs(lse[{r, 0}] - whole) < 1e-3)
      local want = r == 2 and 0 or whole - scores[{r, target[{r, 0}]}]
      if r < 3 then
        right = right and (want == loss[{r, 0}] or math.abs(loss[{r, 0}] - want) < 1e-2)
      end
    end
    print(n, text:sub(1, first):find "fmaxf%([^;]*picked" ~= nil, right)
  end
end
-- expect: 1024	true	true
-- expect: 4096	true	true
-- expect: 131072	false	true
