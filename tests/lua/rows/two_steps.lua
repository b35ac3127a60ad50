-- Reductions of two steps, draws, and what a row reads before its first reduction, in every shape
-- of rows, against plain Lua; and what is refused.

local both = row_kernel("both", function(row, x)
  local mean, variance = row:mean_and_variance(x)
  local top, sum = row:max_and_sum_exp(x)
  return row:once(mean), row:once(variance), row:once(top + log(sum))
end)
-- With sums of columns, rows come through shared memory.
local in_turns = row_kernel("in_turns", function(row, x)
  local mean, variance = row:mean_and_variance(x)
  local top, sum = row:max_and_sum_exp(x)
  return row:once(mean), row:once(variance), row:once(top + log(sum)), row:column_sum(x)
end)

local function is_near(a, b) return math.abs(a - b) <= 2e-5 * math.max(1, math.abs(b)) end

-- Values around 1000, so that a variance from sums of squares would be wrong.
local function differs(f, R, n)
  local x = rand(f32, row_major{R, n}, 1000, 1003)
  local mean, variance, lse = f(x, {check = not device().sm})
  for r = 0, R - 1 do
    local sum, squares, exps = 0, 0, 0
    for i = 0, n - 1 do sum = sum + x[{r, i}] end
    for i = 0, n - 1 do
      squares, exps = squares + (x[{r, i}] - sum / n) ^ 2, exps + math.exp(x[{r, i}] - 1000)
    end
    if not is_near(mean[r], sum / n) then return "mean", mean[r], sum / n end
    if math.abs(variance[r] - squares / n) > 1e-4 then return "variance", variance[r] end
    if not is_near(lse[r], 1000 + math.log(exps)) then return "lse", lse[r], exps end
  end
  return "right"
end

for _, case in ipairs{{both, 5, 3}, {both, 3, 96}, {both, 2, 1300}, {both, 2, 1301},
                      {both, 2, 70000}, {both, 2, 70001}, {both, 1, 300000}, {both, 1, 300001},
                      {in_turns, 9, 40}, {in_turns, 7, 1024}, {in_turns, 3, 1001}} do
  local f, R, n = table.unpack(case)
  print(f:explain(zeros(f32, row_major{R, n})).shape, n, differs(f, R, n))
end
-- expect: warp	3	right
-- expect: warp	96	right
-- expect: block	1300	right
-- expect: block	1301	right
-- expect: resident	70000	right
-- expect: cluster	70001	right
-- expect: resident	300000	right
-- expect: stream	300001	right
-- expect: warp	40	right
-- expect: staged	1024	right
-- expect: block	1001	right

do -- nothing but -inf, and values that are not finite
  local inf = math.huge
  local lse = select(3, both(from_table(f32, {{-inf, -inf}, {1, -inf}, {inf, 1}})))
  print(lse[0], lse[1], lse[2] ~= lse[2])
end
-- expect: -inf	1.0	true

do -- two blocks of long rows fit a multiprocessor, and one of those that keep a row in shared
  -- memory; blocks of a cluster have no limit
  local softmax = require "cuttle.rows".softmax
  for _, n in ipairs{4096, 16384, 24576, 65536, 131072, 131073} do
    local text = softmax:source(zeros(bf16, row_major{1, n}))
    print(n, text:match "__launch_bounds__(%b())")
  end
end
-- expect: 4096	(128)
-- expect: 16384	(256, 2)
-- expect: 24576	(512, 2)
-- expect: 65536	(1024, 1)
-- expect: 131072	(1024, 1)
-- expect: 131073	(512)

-- {====== Draws ======

-- The column of a row whose weights are 0 but for some, for random numbers from 0 to just below 1.
local draw = row_kernel("draw", function(row, weight, u)
  return row:once(row:draw(weight, cast(row:keep_once(u), f64)))
end, {types = {i32}})

-- Every column with a weight, in some order, as often as its weight says; no other.
local function shares(n, heavy)
  local R <const> = 64
  local weight, u = zeros(f32, n), zeros(f32, row_major{R, 1})
  for r = 0, R - 1 do u[r] = (r + 0.5) / R end
  for column, share in pairs(heavy) do weight[column] = share end
  local drawn, counts = draw(view(weight, layout({R, n}, {0, 1})), u, {check = not device().sm}), {}
  for r = 0, R - 1 do counts[drawn[r]] = (counts[drawn[r]] or 0) + 1 end
  for column, count in pairs(counts) do
    if not heavy[column] then return "drew " .. column end
    if math.abs(count - heavy[column]) > 1 then return ("%d: %d"):format(column, count) end
  end
  return "right"
end
for _, n in ipairs{5, 96, 1300, 5001, 70000, 70001} do
  print(n, shares(n, {[0] = 16, [n // 2] = 8, [n // 2 + 1] = 8, [n - 1] = 32}))
end
-- expect: 5	right
-- expect: 96	right
-- expect: 1300	right
-- expect: 5001	right
-- expect: 70000	right
-- expect: 70001	right
print(draw(zeros(f32, row_major{1, 9}), full(f32, row_major{1, 1}, 0.5))[0])
-- expect: -1

-- {====== Before the first reduction ======

do -- a picked element may be replaced, as it is read before
  local pick = row_kernel("pick", function(row, x, at)
    local picked = row:pick("x", at)
    return x - row:sum(x) + picked
  end)
  for _, n in ipairs{6, 700, 66000} do
    local x, at = ones(f32, row_major{3, n}), from_table(i32, {{0}, {n - 1}, {n // 2}})
    for r = 0, 2 do x[{r, at[r]}] = 5 end
    pick(x, at, {out = x, check = not device().sm})
    print(x[{0, 1}] == 1 - (n + 4) + 5, x[{1, n - 1}] == 5 - (n + 4) + 5, x[{2, 0}])
  end
end
-- expect: true	true	-4.0
-- expect: true	true	-698.0
-- expect: true	true	-65998.0

local function refused(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local x = ones(f32, row_major{2, 8})
refused(row_kernel("late", function(row, a) return row:keep_once(row:sum(a)) end), x)
-- expect: row_kernel: row:keep_once after a reduction: its value is made before the first one; call it before all reductions
refused(row_kernel("places", function(row, a, at) return a + row:pick("a", at) end), x,
  zeros(i32, row_major{2, 1}), {out = x})
-- expect: places: out[1] takes the place of a, of which row:at reads other elements: they would be read after they are written; give out[1] memory of its own
refused(row_kernel("drawn", function(row, a)
  return row:once(row:draw(row:group_sum(a, 4), 0.5))
end), x)
-- expect: row_kernel: row:draw and groups of columns in one row_kernel; use two
