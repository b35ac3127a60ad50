-- row_kernel: shapes, broadcasting, strides, results of all kinds, values that are kept, reductions
-- by a function; nothing that check finds in any shape; and what is refused.

local function close(a, b) return math.abs(a - b) <= 1e-5 * math.max(1, math.abs(b)) end

-- {====== Shapes ======

-- The sum and the maximum of each row, whatever the shape, under check.
local stats = row_kernel("stats", function(row, x)
  local doubled = row:keep(2.0 * x)
  local sum, top = row:sum(doubled), row:max(x)
  return doubled - sum, row:once(top), row:column_sum(x)
end)
local plain = row_kernel("plain", function(row, x)
  local doubled = row:keep(2.0 * x)
  return doubled - row:sum(doubled), row:once(row:max(x))
end)

local function is_right(f, R, n)
  local x = rand(f32, row_major{R, n})
  local y, top, columns = f(x, {check = not device().sm})
  for r = 0, R - 1 do
    local sum, most = 0, -1
    for i = 0, n - 1 do sum, most = sum + 2 * x[{r, i}], math.max(most, x[{r, i}]) end
    for i = 0, n - 1, n > 99 and n // 7 or 1 do
      if not close(y[{r, i}], 2 * x[{r, i}] - sum) then return "y", r, i end
    end
    if top[{r, 0}] ~= most then return "top", r end
  end
  for i = 0, columns and n - 1 or -1, n > 99 and n // 7 or 1 do
    local sum = 0
    for r = 0, R - 1 do sum = sum + x[{r, i}] end
    if not close(columns[i], sum) then return "column", i end
  end
  return true
end

for _, case in ipairs{{plain, 5, 3}, {plain, 3, 96}, {plain, 2, 1300}, {plain, 2, 70000},
                      {plain, 2, 70001}, {plain, 2, 300001},
                      {stats, 9, 40}, {stats, 7, 1024}, {stats, 3, 32768},
                      {stats, 3, 1001}} do
  local f, R, n = table.unpack(case)
  print(f:explain(zeros(f32, row_major{R, n})).shape, n, is_right(f, R, n))
end
-- expect: warp	3	true
-- expect: warp	96	true
-- expect: block	1300	true
-- expect: resident	70000	true
-- expect: cluster	70001	true
-- expect: stream	300001	true
-- expect: warp	40	true
-- expect: staged	1024	true
-- expect: staged	32768	true
-- expect: block	1001	true
print(row_kernel("double", function(row, x) return x + x end)
  :explain(zeros(f32, row_major{2, 5000})).shape)
-- expect: flat

-- {====== Arguments ======

do -- rows of any strides, one value for all rows, one for each, numbers; several modes of rows
  local mix = row_kernel("mix", function(row, x, w, s, a)
    return x * w + s * a + row:column() + 100.0 * row:index()
  end)
  local x = select(arange(f32, row_major{3, 5, 2}), 2, 0, 1)  -- (2,3,5), rows of stride 2
  local y = mix(x, arange(f32, 5), from_table(f32, {{1}, {2}, {3}}), 0.5)
  print(y.shape, y[{1, 2, 4}] == x[{1, 2, 4}] * 4 + 1.5 + 4 + 500)
  print(mix(zeros(f32, row_major{0, 5}), arange(f32, 5), 1.0, 0.5).shape)
end
-- expect: (2,3,5)	true
-- expect: (0,5)

do -- the largest value and its column, by a function of tables; a result in place
  local argmax = row_kernel("argmax", function(row, x)
    local best = row:reduce({value = x, at = row:column()}, function(a, b)
      local is_b = b.value > a.value
      return {value = where(is_b, b.value, a.value), at = where(is_b, b.at, a.at)}
    end, {value = f32(-math.huge), at = i32(0)})
    return x - best.value, row:once(best.at)
  end)
  local x = from_table(f32, {{1, 7, 3}, {9, 2, 4}})
  local y, at = argmax(x, {out = {x, zeros(i32, row_major{2, 1})}})
  print(at[{0, 0}], at[{1, 0}], y[{0, 2}], x[{0, 2}])
end
-- expect: 1	0	-4.0	-4.0

do -- prepared
  local twice = row_kernel(function(row, x) return 2.0 * x end)
  local x = ones(f32, row_major{2, 3})
  local launch, results = twice:prepare(x)
  x[{1, 1}] = 5
  launch()
  print(#results, results[1][{1, 1}])
end
-- expect: 1	10.0

do -- memory for sums of columns, of two results and of none
  local backward = row_kernel("backward", function(row, x, y)
    return x * y, row:column_sum(x), row:column_sum(x * y)
  end)
  local x, y = randn(f32, row_major{40, 96}), randn(f32, row_major{40, 96})
  local n = backward:work(x, y)
  local work, want = full(f32, n, 0 / 0), {backward(x, y)}
  local is_same = true
  for i, t in ipairs{backward(x, y, {work = work})} do
    is_same = is_same and allclose(t, want[i], {atol = 0, rtol = 0})
  end
  print(n > 0, is_same, work[0] == work[0], row_kernel(function(_, a) return a end):work(x))
  print((select(2, pcall(backward, x, y, {work = ones(f32, 5)})):gsub("^[^ ]+:%d+: ", "")
    :gsub("%d+ adjacent", "N adjacent")))
end
-- expect: true	true	true	0
-- expect: backward: work is f32 5:1 on cpu; expected at least N adjacent f32 on cpu

-- {====== What is refused ======

local function refused(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local scale = row_kernel("scale", function(row, x, w) return x * w end)
local x = zeros(f32, row_major{2, 3})
refused(row_kernel, "k", 3)
-- expect: row_kernel: argument 2 is of type number; expected a function (row, x, ...) of one element
refused(scale, x)
-- expect: scale: 1 argument; expected 2: x, w
refused(scale, x, zeros(f32, 4))
-- expect: scale: w is 4; its mode 0 has extent 4, but another argument has 3; what has one value for each row is (..., 1)
refused(scale, 1.0, 2.0)
-- expect: scale: no argument is a tensor with rows; expected one of shape (..., columns)
refused(scale, x, 2.0, {out = zeros(f32, row_major{3, 2})})
-- expect: scale: out[1] is (3,2):(2,1); expected (2,3)
refused(scale, x, 2.0, {out = {x, x}})
-- expect: scale: out has 2 tensors; the function returns 1 value
refused(scale, x, 2.0, {on = x})
-- expect: scale: option 'on' is unknown; expected check, out, stream or work
