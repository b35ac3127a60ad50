-- selections.sample: which columns may be drawn, by plain Lua, and how often each is, beside its
-- probability; NaN and -inf are never drawn; the same seed draws the same; and what is refused.
local rows = require "cuttle.rows"
local selections = require "cuttle.selections"
local support = dofile "tests/support/selections.lua"
local refused = support.refused

local function rows_of(dtype, logits, n_rows)
  local all = tensor(dtype, row_major{n_rows, #logits})
  copy(view(from_table(dtype, logits), layout({n_rows, #logits}, {0, 1})), all)
  return all
end

-- The probabilities of columns that the options leave: top_k, then top_p of these, then min_p.
local function probabilities(logits, o)
  local order, t, sum = {}, o.temperature or 1, 0.0
  for i, v in ipairs(logits) do
    if v == v and v > -math.huge then order[#order + 1] = i end
  end
  table.sort(order, function(a, b) return logits[a] > logits[b] end)
  local function weight(i) return math.exp((logits[i] - logits[order[1]]) / t) end
  while #order > (o.top_k or #order) and logits[order[#order]] < logits[order[o.top_k]] do
    table.remove(order)
  end
  for _, i in ipairs(order) do sum = sum + weight(i) end
  local p, before, kept = {}, 0.0, 0.0
  for j, i in ipairs(order) do
    local ties = j > 1 and logits[order[j - 1]] == logits[i] and p[order[j - 1]] -- equal ones all
    if ties or (before < (o.top_p or 2) * sum and weight(i) >= (o.min_p or 0)) then
      p[i], kept = weight(i), kept + weight(i)
    end
    before = before + weight(i)
  end
  for i, w in pairs(p) do p[i] = w / kept end
  return p
end

local function check(dtype, logits, o)
  local n_rows = #logits > 10000 and 24 or #logits > 100 and 100 or 3000
  local drawn, counts = support.list(selections.sample(rows_of(dtype, logits, n_rows), o)), {}
  for _, c in ipairs(drawn) do counts[c + 1] = (counts[c + 1] or 0) + 1 end
  local p, worst = probabilities(logits, o), 0
  for i = 1, #logits do
    local want, got = n_rows * (p[i] or 0), counts[i] or 0
    if want == 0 and got > 0 then return ("column %d must not be drawn"):format(i - 1) end
    worst = math.max(worst, math.abs(got - want) / math.sqrt(want + 1))
  end
  return worst < 4.5 or ("off by %.1f deviations"):format(worst)
end

local logits <const> = {0.5, 2.0, -1.0, 1.0, 0 / 0, 1.0, -math.huge, 0.0}
for _, o in ipairs{ {}, {temperature = 0.5}, {top_k = 1}, {top_k = 3}, {top_k = 2}, {top_k = 100},
  {top_p = 0.3}, {top_p = 0.6}, {top_p = 0.95}, {top_p = 1}, {min_p = 0.3}, {min_p = 1},
  {top_k = 4, top_p = 0.7}, {top_k = 4, top_p = 0.95, min_p = 0.2, temperature = 2} } do
  o.seed = 11
  for _, dtype in ipairs{f32, bf16} do
    local found = check(dtype, logits, o)
    if found ~= true then print(dtype, o.top_k, o.top_p, o.min_p, found) end
  end
end
print(check(f64, logits, {top_p = 0.6}), check(f16, logits, {top_k = 3}))
-- expect: true	true

do -- blocks draw from a list of what may be among the first k; or there are too many of these
  local long, same = {}, {}
  for i = 1, 1100 do long[i], same[i] = -9.0 - i % 7, 0.5 end
  for i, v in ipairs(logits) do long[i * 113] = v end
  local o = {top_k = 20, top_p = 0.9, min_p = 0.2}
  print(check(f32, long, o), check(f32, same, o))
  o.top_p = 0.85 -- of all 20: column 112 is in the set, as those that min_p leaves out count there
  local found = 0
  for _, column in ipairs(support.list(selections.sample(rows_of(f32, long, 200), o))) do
    found = found + (column == 112 and 1 or 0)
  end
  print(found > 0)
  local few = full(f32, row_major{2, 1100}, 0 / 0)
  few[{1, 800}] = 2.0
  print(table.concat(support.list(selections.sample(few, o)), " "))
end
-- expect: true	true
-- expect: true
-- expect: 0 800

for _, columns in ipairs{5000, 20480} do -- the largest are in so few threads that a list overflows
  local x, n_rows, k <const> = zeros(f32, row_major{40, columns}), 40, 20
  local row = {}
  for i = 0, columns - 1 do row[i + 1] = i // 4 % 1024 < 40 and 5.0 + i * 1e-5 or -1.0 end
  copy(view(from_table(f32, row), layout({n_rows, columns}, {0, 1})), x)
  local _, best = selections.top_k(x, k)
  local is_best, outside = {}, 0
  for i = 0, k - 1 do is_best[best[{0, i}]] = true end
  for _, column in ipairs(support.list(selections.sample(x, {top_k = k, seed = 3}))) do
    outside = outside + (is_best[column] and 0 or 1)
  end
  print(outside)
end
-- expect: 0
-- expect: 0

do -- rows that are read once, and what is proposed: heavy columns, equal ones, and nothing else
  local long, n <const> = {}, 16384
  for i = 1, n do long[i] = -9.0 - i % 7 end
  for i, v in ipairs(logits) do long[i * 2011] = v end
  for _, o in ipairs{ {}, {min_p = 0.3}, {top_p = 0.6}, {top_p = 0.1}, {top_p = 0.9, min_p = 0.2},
    {temperature = 1e-9}, {top_p = 1, temperature = 0.5} } do
    o.seed = 3
    local found = check(o.top_p and bf16 or f32, long, o)
    if found ~= true then print(o.temperature, o.top_p, o.min_p, found) end
  end
  local few = full(bf16, row_major{3, n}, 0 / 0)
  few[{1, 800}], few[{2, 9000}], few[{2, 3}] = -2.0, math.huge, 7.0
  for _, o in ipairs{ {}, {top_p = 0.5}, {min_p = 0.5} } do
    print(table.concat(support.list(selections.sample(few, o)), " "))
  end
end
-- expect: 0 800 9000
-- expect: 0 800 9000
-- expect: 0 800 9000

do -- values of bf16 are counted: those that have a bin of their own, and smaller and larger ones
  local n <const> = 16384
  local x = randn(f32, row_major{1, n})
  local function logits_of(factor, more)
    local list = {}
    for i = 1, n do list[i] = x[i - 1] * factor end
    for i, v in ipairs(more or {}) do list[i * 1500] = v end
    return support.list(from_table(bf16, list))
  end
  local far = {-100.0, -math.huge, 0 / 0, 0.0, 2.0 ^ -10, -2.0 ^ -20, 63.75}
  for i, case in ipairs{ {1, {}, 0.9}, {1, {}, 0.3, 0.5}, {4, far, 0.95, 7}, {12, {}, 0.7, 9},
    {30, {}, 0.5, 20}, {3e-4, {}, 0.6, 1e-4}, {3e-3, {0.0, -0.0, 1e-3}, 0.5, 1e-3}, {1, {}, 1.0},
    {-1e-5, far, 0.999, 30} } do
    local found = check(bf16, logits_of(case[1], case[2]), {top_p = case[3], temperature = case[4],
      seed = i})
    if found ~= true then print(i, found) end
  end
end

do -- long rows, the same seed, other seeds; a vector is a row
  local x = randn(f32, row_major{4, 20000})
  local a = support.list(selections.sample(x, {top_k = 40, top_p = 0.9, seed = 5}))
  local b = support.list(selections.sample(x, {top_k = 40, top_p = 0.9, seed = 5}))
  local c = support.list(selections.sample(x, {top_k = 40, top_p = 0.9, seed = 6}))
  local _, best = selections.top_k(x, 40)
  local is_top, places = true, support.list(best)
  for r = 0, 3 do
    local found = false
    for j = 1, 40 do found = found or places[r * 40 + j] == a[r + 1] end
    is_top = is_top and found
  end
  print(table.concat(a, " ") == table.concat(b, " "), table.concat(a, " ") ~= table.concat(c, " "),
    is_top, selections.sample(arange(f32, 9), {top_k = 1})[0])
end
-- expect: true	true	true	8
print(selections.sample(zeros(f32, row_major{2, 3, 4})).shape)
-- expect: (2,3,1)

-- Options for each row: what each number alone draws; a row's own seed, at any place.
local function in_turn(list, n)
  local all = {}
  for i = 1, n do all[i] = list[(i - 1) % #list + 1] end
  return all
end

local own <const> = {temperature = {f32, 1, 0.5, 3}, top_p = {f32, 0.9, 0.25}, min_p = {f32, 0.125},
  top_k = {i32, 3, 40, 128, 300}}
local function draws_alike(dtype, columns, names)
  local n <const> = 4
  local x, asked, is_same = randn(dtype, row_major{n, columns}), {seed = 7}, true
  for _, name in ipairs(names) do
    asked[name] = from_table(own[name][1], in_turn({table.unpack(own[name], 2)}, n))
  end
  local all = support.list(selections.sample(x, asked))
  for r = 0, n - 1 do
    local alone = {seed = 7}
    for _, name in ipairs(names) do alone[name] = asked[name][r] end
    is_same = is_same and all[r + 1] == support.list(selections.sample(x, alone))[r + 1]
  end
  return is_same
end

for _, names in ipairs{ {"temperature"}, {"top_p"}, {"temperature", "top_p", "min_p"}, {"min_p"},
  {"top_k"}, {"top_k", "temperature", "top_p"} } do
  local text = table.concat(names, ", ")
  -- Without these, another kernel draws by numbers from short rows.
  local is_same = not text:find "top" or draws_alike(f32, 3000, names)
  if not (is_same and draws_alike(bf16, 16384, names)) then print(text) end
end

for _, columns in ipairs{600, 16384} do
  local x = rows_of(f32, support.list(randn(f32, columns)), 6)
  local seeds = from_table(i64, {5, 8, 5, 9, 8, 5})
  local d = support.list(selections.sample(x, {seed = seeds}))
  print(d[1] == d[3] and d[3] == d[6] and d[2] == d[5], d[1] ~= d[2] and d[2] ~= d[4])
  local cold = {temperature = from_table(f32, {0, 1, 0, 1, 0, 1}), seed = seeds}
  local best = support.list((rows.argmax(x)))
  local c = support.list(selections.sample(x, cold))
  print(c[1] == best[1] and c[3] == best[3] and c[5] == best[5], c[2] == d[2] and c[6] == d[6])
  cold.temperature, cold.top_k = nil, from_table(i32, {1, 0, -3, columns, columns + 1, 1})
  c = support.list(selections.sample(x, cold))
  print(c[1] == best[1] and c[6] == best[1], c[2] == c[5] and c[3] ~= best[1])
end
-- expect: true	true
-- expect: true	true
-- expect: true	true
-- expect: true	true
-- expect: true	true
-- expect: true	true

local x = ones(f32, 8)
print(refused(selections.sample, x, {top_p = ones(f32, 2)}))
-- expect: sample: top_p has 2 elements, but x has 1 row; expected one element for each row
print(refused(selections.sample, x, {seed = ones(i32, 1)}))
-- expect: sample: seed is i32; expected one of i64
print(refused(selections.sample, x, {top_p = 0}))
-- expect: sample: top_p is 0; expected a number above 0, at most 1, or a tensor
print(refused(selections.sample, x, {top_k = 0}))
-- expect: sample: top_k is 0; expected an integer from 1 on, or a tensor
print(refused(selections.sample, x, {temperature = -1}))
-- expect: sample: temperature is -1; expected a number above 0, at most 1e+30, or a tensor
print(refused(selections.sample, x, {seed = 0.5}))
-- expect: sample: seed is 0.5; expected an integer, or a tensor
print(refused(selections.sample, zeros(i32, 8)))
-- expect: sample: x is i32; expected one of f16, bf16, f32, f64

do -- the launch before may write a row's own options, so they are read after it has ended
  local of_two, of_rows = zeros(bf16, row_major{2, 16384}), {seed = zeros(i64, 2)}
  for _, name in ipairs{"temperature", "top_p", "min_p"} do of_rows[name] = zeros(f32, 2) end
  local text, early = selections.sample:source(of_two, of_rows), {}
  local waits = text:find("grid_dependency_wait();", text:find "__global__", true)
  for _, name in ipairs{"factor", "p", "log2_min_p", "seed"} do
    early[#early + 1] = tostring(text:find("%f[%w_]" .. name .. "%[bid_x%]") < waits)
  end
  print(table.concat(early, " "))
end
-- expect: false false false false

do -- two of a thread's vectors have one largest element
  local of_two, sizes = zeros(bf16, row_major{2, 16384}), {}
  for i, o in ipairs{ {}, {min_p = 0.1} } do
    sizes[i] = selections.sample:source(of_two, o):match "unsigned short shared%[(%d+)%]"
  end
  print(table.concat(sizes, " "))
end
-- expect: 4096 4096

do -- blocks of sm_89 have less shared memory than the least set of some rows takes
  local path = os.tmpname()
  local script = assert(io.open(path, "w"))
  script:write [[
    local sample, refused = require "cuttle.selections".sample, 0
    local cases = {{bf16, 131072}, {bf16, 151936}, {bf16, 202048}, {f16, 202048}, {f32, 52000}}
    for _, case in ipairs(cases) do
      local x = zeros(case[1], row_major{1, case[2]})
      for _, o in ipairs{ {top_p = 0.9}, {top_p = 0.9, min_p = 0.1} } do
        if not pcall(sample, x, o) then refused = refused + 1 end
      end
    end
    print("refused: " .. refused)
  ]]
  script:close()
  local command = ("CUTTLE_DEVICE=cpu '%s' emit --sm=89 %s 2>&1"):format(arg[-1], path)
  local pipe = assert(io.popen(command))
  print(pipe:read("a"):match "refused: %d+")  -- expect: refused: 0
  pipe:close()
  os.remove(path)
end
