-- Rows that stay in shared memory while blocks take them in turns, against plain Lua: as many rows as
-- blocks, and more; one block for a row or a pair; in place; two arguments; a draw.
-- needs sm_90a
local rows = require "cuttle.rows"
local COLUMNS <const> = 131072

local function near(a, b) return math.abs(a - b) <= 2.0 ^ -7 * math.abs(b) + 1e-9 end

local function row_list(x, r)
  return view(tile(x, {1, COLUMNS}, {r, 0}), layout(COLUMNS)):totable()
end

-- The lse, the sum of squares, the mean and the variance of a list of numbers.
local function facts(list)
  local top, sum, squares, total, variance = -math.huge, 0, 0, 0, 0
  for _, v in ipairs(list) do top, total = math.max(top, v), total + v end
  local mean = total / #list
  for _, v in ipairs(list) do
    sum, squares, variance = sum + math.exp(v - top), squares + v * v, variance + (v - mean) ^ 2
  end
  return top + math.log(sum), squares / #list, mean, variance / #list
end

local function largest_of(list)
  local most = -math.huge
  for _, v in ipairs(list) do most = math.max(most, v) end
  return most
end

local function wrong_in(R)
  local x, dy, wrong = randn(bf16, row_major{R, COLUMNS}), randn(bf16, row_major{R, COLUMNS}), 0
  local function expect(got, want)
    if not near(got, want) then wrong = wrong + 1 end
  end
  local target = zeros(i32, row_major{R, 1})
  for r = 0, R - 1 do target[{r, 0}] = r == 3 and -100 or 1000 * r + 7 end
  local loss, lse = rows.cross_entropy(x, target, -100)
  local norm, scale = rows.rms_norm(x, ones(bf16, COLUMNS), 0.0)
  local _, mean, deviation = rows.layer_norm(x, ones(bf16, COLUMNS), ones(bf16, COLUMNS), 0.0)
  local dx, lists = rows.softmax_backward(dy, x), {}
  local at, largest = rows.argmax(x)
  for r = 0, R - 1 do lists[r] = row_list(x, r) end
  local p = rows.softmax(x, {out = x})
  for r = 0, R - 1 do
    local list, dys = lists[r], row_list(dy, r)
    local all, squares, average, variance = facts(list)
    local column, dot = 1000 * r + 7, 0
    for i, v in ipairs(list) do dot = dot + v * dys[i] end
    local v = list[column + 1]
    expect(lse[{r, 0}], all)
    expect(loss[{r, 0}], r == 3 and 0.0 or all - v)
    expect(scale[{r, 0}], squares ^ -0.5)
    expect(norm[{r, column}], v * squares ^ -0.5)
    if math.abs(mean[{r, 0}] - average) > 1e-5 then wrong = wrong + 1 end
    expect(deviation[{r, 0}], variance ^ -0.5)
    expect(dx[{r, column}], (dys[column + 1] - dot) * v)
    expect(p[{r, column}], math.exp(v - all))
    expect(largest[{r, 0}], largest_of(list))
    expect(list[at[{r, 0}] + 1], largest[{r, 0}])
  end
  return wrong
end
print(wrong_in(1), wrong_in(5))
-- expect: 0	0

for _, case in ipairs{{"cross_entropy", zeros(i32, row_major{2, 1}), -100}, {"softmax"}, {"argmax"},
                      {"softmax_backward", zeros(bf16, row_major{2, COLUMNS})}} do
  local name <const> = case[1]
  local found = rows[name]:explain(zeros(bf16, row_major{2, COLUMNS}), table.unpack(case, 2))
  print(name, found.shape, found.parts, found.deep)
end
-- expect: cross_entropy	resident	1	16
-- expect: softmax	resident	4	4
-- expect: argmax	stream	1	16
-- expect: softmax_backward	resident	2	8

-- Rings of slots of other lengths, with rows that fill an odd number of them, beside f64.
for _, columns in ipairs{32768, 40960, 73728} do
  local x = randn(f16, row_major{5, columns})
  local exact = zeros(f64, row_major{5, columns})
  for i = 0, size(x) - 1 do exact[i] = x[i] end
  local y, found = zeros(f64, row_major{5, columns}), rows.softmax(x)
  for i = 0, size(x) - 1 do y[i] = found[i] end
  print(columns, rows.softmax:explain(x).shape, rows.softmax:explain(x).deep,
    allclose(y, rows.softmax(exact), {rtol = 2.0 ^ -8, atol = 2.0 ^ -24}))
end
-- expect: 32768	resident	4	true
-- expect: 40960	resident	5	true
-- expect: 73728	resident	9	true

do -- in which turn of its blocks a row comes does not show
  local x, w = randn(bf16, row_major{7, COLUMNS}), randn(bf16, COLUMNS)
  local _, mean, deviation = rows.layer_norm(x, w, w, 0.0)
  local y, scale = rows.rms_norm(x, w, 0.0)
  local wrong = 0
  for r = 0, 6 do
    local own = view(tile(x, {1, COLUMNS}, {r, 0}), row_major{1, COLUMNS})
    local _, a, b = rows.layer_norm(own, w, w, 0.0)
    local z, c = rows.rms_norm(own, w, 0.0)
    local own_y = tile(y, {1, COLUMNS}, {r, 0})
    if not allclose(own_y, z, {rtol = 0, atol = 0}) then wrong = wrong + 1 end
    for t, of_all in pairs{[a] = mean, [b] = deviation, [c] = scale} do
      if t[{0, 0}] ~= of_all[{r, 0}] then wrong = wrong + 1 end
    end
  end
  print(wrong)
end
-- expect: 0

do -- threads keep a weight in registers from row to row, if there is room for all that rows share
  local x, w = tensor(bf16, row_major{9, COLUMNS}), tensor(bf16, COLUMNS)
  local function is_read_once(text)
    local loop = text:find("while (n_rows >", 1, true)
    return text:find("weight +", 1, true) < loop
      and not text:find("weight +", loop, true)
  end
  print(is_read_once(rows.rms_norm:source(x, w, 1e-6)),
    is_read_once(rows.layer_norm:source(x, w, w, 1e-6)),
    is_read_once(rows.layer_norm_fp8_blocks:source(x, w, w, 1e-6)))
end
-- expect: true	true	false

-- How many blocks then keep a row, of how many vectors in each thread.
for _, case in ipairs{{"rms_norm_fp8_rows", 32768}, {"layer_norm", 32768}, {"layer_norm", 65536},
                      {"rms_norm_fp8_blocks", 65536}, {"rms_norm", 131072},
                      {"layer_norm", 98304}, {"layer_norm", 131072},
                      {"add_rms_norm", 131072}, {"rms_norm", 262144}, {"layer_norm", 262144},
                      {"add_layer_norm", 65536}, {"add_layer_norm", 262144},
                      {"rms_norm_fp8_blocks", 262144}, {"rms_norm", 65536}} do
  local name, n <const> = table.unpack(case)
  local x, w = tensor(bf16, layout({200, n}, {0, 1})), tensor(bf16, n)
  local given = {x, w, 1e-6}
  if name:find "^add" then table.insert(given, 2, x) end
  if name:find "layer" then table.insert(given, #given, w) end
  local found = rows[name]:explain(table.unpack(given))
  print(name, n, found.shape, found.parts, found.deep)
end
-- expect: rms_norm_fp8_rows	32768	resident	1	4
-- expect: layer_norm	32768	block	1	8
-- expect: layer_norm	65536	resident	1	8
-- expect: rms_norm_fp8_blocks	65536	resident	2	4
-- expect: rms_norm	131072	resident	2	8
-- expect: layer_norm	98304	resident	4	3
-- expect: layer_norm	131072	resident	4	4
-- expect: add_rms_norm	131072	resident	8	2
-- expect: rms_norm	262144	resident	8	4
-- expect: layer_norm	262144	resident	8	4
-- expect: add_layer_norm	65536	resident	2	4
-- expect: add_layer_norm	262144	resident	8	4
-- expect: rms_norm_fp8_blocks	262144	resident	4	8
-- expect: rms_norm	65536	resident	1	8

do -- warps of a cluster send what they have at once, two numbers by one store, and no block waits
  local x, w = tensor(bf16, row_major{9, COLUMNS}), tensor(bf16, COLUMNS)
  for _, case in ipairs{{"layer_norm", w, w, 1e-6}, {"softmax"}} do
    local text = rows[case[1]]:source(x, table.unpack(case, 2))
    local _, n = text:gsub("\n +st_async%(", "")
    print(case[1], n, text:find "unsigned long long value" ~= nil, text:find "__syncthreads" == nil)
  end
end
-- expect: layer_norm	1	true	true
-- expect: softmax	1	true	true

do -- as many reductions as have mbarriers, and one more, in every turn of a block
  local many = row_kernel("many", function(row, x, w, b)
    local sum = row:sum(x)
    local top, squares = row:max(x + sum * 0.0), row:sum(x * x)
    local mean, variance = row:mean_and_variance(x)
    return x * w + b, row:once(sum), row:once(top), row:once(squares), row:once(mean),
      row:once(variance), row:once(row:min(x))
  end)
  local x, w, wrong = randn(bf16, row_major{9, COLUMNS}), ones(bf16, COLUMNS), 0
  local _, sum, top, squares, mean, variance, least = many(x, w, w)
  for r = 0, 8 do
    local _, square, average, spread = facts(row_list(x, r))
    local most, low = largest_of(row_list(x, r)), math.huge
    for _, v in ipairs(row_list(x, r)) do low = math.min(low, v) end
    for got, want in pairs{[top] = most, [squares] = square * COLUMNS, [variance] = spread,
                           [least] = low} do
      if not near(got[{r, 0}], want) then wrong = wrong + 1 end
    end
    if math.abs(mean[{r, 0}] - average) > 1e-5 then wrong = wrong + 1 end
    if math.abs(sum[{r, 0}] - average * COLUMNS) > 0.1 then wrong = wrong + 1 end
  end
  print(many:explain(x, ones(bf16, COLUMNS), ones(bf16, COLUMNS)).parts, wrong)
end
-- expect: 4	0

do -- a value that row:keep computes comes before a maximum and a sum that one pass finds
  local x = randn(bf16, row_major{3, COLUMNS})
  local kept = row_kernel("kept", function(row, x)
    local v = row:keep(x)
    local top, sum = row:max_and_sum_exp(v)
    return exp(v - top) / sum
  end)
  print(kept:explain(x).shape, allclose(kept(x), rows.softmax(x), {rtol = 1e-2, atol = 1e-6}))
end
-- expect: resident	true

do -- a softmax computes each power once where its threads keep them, also if x is used again
  local x = randn(bf16, row_major{3, COLUMNS})
  local both = row_kernel("both", function(row, x) return row:softmax(x), x end)
  local _, n = rows.softmax:source(x):gsub("= exp_approx%(", "")
  local p, same = both(x)
  print(both:explain(x).shape, allclose(p, rows.softmax(x), {rtol = 0, atol = 0}),
    allclose(same, x, {rtol = 0, atol = 0}), n)
end
-- expect: resident	true	true	36

do -- each warp of a cluster sends when all of its lanes have read what it got the turn before
  local check, x = require "cuttle.check", randn(bf16, row_major{5, 131072})
  local findings, launches = check.run(function() rows.softmax(x) end)
  print(rows.softmax:explain(x).parts, #findings, launches)
end
-- expect: 4	0	1

-- Rows of which some threads have a vector less, as the vocabularies of models are: in one block,
-- in a pair and in four; and a softmax in registers, of which every second pass widens in another way.
-- Each beside the same call of f64.
for _, case in ipairs{{"log_softmax", 128256}, {"log_softmax", 151936},
                      {"softmax_backward", 151936}, {"softmax", 32768}, {"softmax", 50304}} do
  local name, n <const> = table.unpack(case)
  local given, exact = {}, {}
  for i = 1, name:find "backward" and 2 or 1 do
    given[i], exact[i] = randn(bf16, row_major{3, n}), zeros(f64, row_major{3, n})
    kernel(function(x, y)
      for at in range(threadIdx.x, size(x), blockDim.x) do y[at] = cast(x[at], f64) end
    end){grid = 1, block = 256}(view(given[i], layout(3 * n)), view(exact[i], layout(3 * n)))
  end
  local f = rows[name]
  local y, found = f(table.unpack(exact)), f:explain(table.unpack(given))
  print(name, n, found.shape, found.parts, found.deep,
    allclose(f(table.unpack(given)), y, {rtol = 2.0 ^ -8, atol = 1e-3 * (1 / n)}),
    f:source(table.unpack(given)):find "__byte_perm" ~= nil)
end
-- expect: log_softmax	128256	resident	1	16	true	false
-- expect: log_softmax	151936	resident	2	10	true	false
-- expect: softmax_backward	151936	resident	4	5	true	false
-- expect: softmax	32768	block	1	8	true	true
-- expect: softmax	50304	block	1	7	true	true
