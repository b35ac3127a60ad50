-- A layer of experts: the routing against plain Lua, ties and NaN among the logits; rows of groups
-- that are gathered, scattered and added, by each template, against plain loops; the layer in both
-- ways to combine, also of no tokens. Elements of products are small integers, so sums are exact.
local experts = require "cuttle.expert_layer"
local here = zeros(f32, 1).device
local sm = device().sm

local function small(dtype, l)
  return view(reference.cast(rand(i32, cosize(l), -2, 3):to("cpu"), dtype):to(here), l)
end
local function i32s(list) return from_table(i32, list):to(here) end

-- {====== Routing ======

local function precedes(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end

-- Leaves out of a token's sorted row {expert, value, score} all but the best groups.
local function limit(row, E, groups)
  local n, most = table.unpack(groups)
  local seen, sums, is_in = {}, {}, {}
  for g = 0, n - 1 do seen[g], sums[g + 1] = 0, {g, 0} end
  for _, one in ipairs(row) do
    local g = one[1] // (E // n)
    if seen[g] < 2 then seen[g], sums[g + 1][2] = seen[g] + 1, sums[g + 1][2] + one[2] end
  end
  table.sort(sums, precedes)
  for i = 1, most do is_in[sums[i][1]] = true end
  local rest = {}
  for _, one in ipairs(row) do
    if is_in[one[1] // (E // n)] then rest[#rest + 1] = one end
  end
  return rest
end

-- The (token, choice) of each expert, in order, with their weights.
local function lists_of(logits, k, options)
  local correction = options.correction_bias and options.correction_bias:to("cpu")
  local lists, E = {}, size(logits, 1)
  for e = 0, E - 1 do lists[e] = {} end
  for t = 0, size(logits, 0) - 1 do
    local row, highest = {}, -math.huge
    for e = 0, E - 1 do
      local v = logits[{t, e}]
      v = v == v and v or -math.huge
      row[e + 1], highest = {e, v}, math.max(highest, v)
    end
    local sum, all = 0, 0
    for _, one in ipairs(row) do
      local v = one[2]
      one[3] = options.score == "sigmoid" and 1 / (1 + math.exp(-v)) or math.exp(v - highest)
      all = all + one[3]
    end
    for e, one in ipairs(row) do
      local by = one[3] / (options.score == "sigmoid" and 1 or all)
      if correction then by = by + correction[e - 1] end
      if (correction or options.groups) and one[2] > -math.huge then one[2] = by end
    end
    table.sort(row, precedes)
    if options.groups then row = limit(row, E, options.groups) end
    for j = 1, k do sum = sum + row[j][3] end
    if options.normalize == false then sum = options.score == "sigmoid" and 1 or all end
    for j = 1, k do
      table.insert(lists[row[j][1]],
        {t, t * k + j - 1, row[j][3] / sum * (options.scale or 1)})
    end
  end
  return lists
end

local function check_route(T, E, k, options)
  local logits = view(randn(f32, T * E):to("cpu"), row_major{T, E})
  if T > 4 then
    for e = 0, E - 1 do logits[{1, e}], logits[{2, e}] = 1.5, e % 2 end -- ties
    logits[{3, 0}], logits[{4, E - 1}] = 0 / 0, -math.huge
  end
  local r = experts.route(logits:to(here), k, options)
  local tokens, places, ends, weights = r.tokens:to("cpu"), r.places:to("cpu"), r.ends:to("cpu"),
    r.weights:to("cpu")
  local at, wrong = 0, 0
  local lists = lists_of(logits, k, options)
  for e = 0, E - 1 do
    for _, one in ipairs(lists[e]) do
      local is_right = tokens[at] == one[1] and places[at] == one[2]
        and math.abs(weights[at] - one[3]) < 1e-5
      at, wrong = at + 1, wrong + (is_right and 0 or 1)
    end
    wrong = wrong + (ends[e] == at and 0 or 1)
  end
  print("route", T, E, k, wrong)
end
check_route(70, 6, 2, {})                     -- expect: route	70	6	2	0
check_route(9, 40, 5, {normalize = false})    -- expect: route	9	40	5	0
check_route(33, 33, 1, {score = "sigmoid"})   -- expect: route	33	33	1	0
check_route(10, 5, 5, {score = "sigmoid", normalize = false}) -- expect: route	10	5	5	0
check_route(1100, 3, 2, {})                   -- expect: route	1100	3	2	0
check_route(0, 4, 2, {})                      -- expect: route	0	4	2	0
-- As DeepSeek V3 routes, in small; then each part of that alone.
check_route(40, 64, 4, {score = "sigmoid", correction_bias = randn(f32, 64), groups = {8, 3},
  scale = 2.5})                               -- expect: route	40	64	4	0
check_route(9, 12, 3, {correction_bias = randn(bf16, 12)})    -- expect: route	9	12	3	0
check_route(9, 70, 3, {groups = {7, 1}, normalize = false})   -- expect: route	9	70	3	0
check_route(9, 12, 2, {groups = {12, 2}})     -- expect: route	9	12	2	0
check_route(20, 6, 2, {scale = 0.5})          -- expect: route	20	6	2	0

-- {====== Rows by an index ======

local function weighted(v, e) return v * e.weights[e.m] end
local function gated(v, w, e) return (v + 2 * w) * e.weights[e.m] end

-- Rows of three groups, the last rows in none; some of the index outside.
local function check_rows(dtype, config, how)
  local T, N, K, ends, M = 30, how.glu and 80 or 48, 48, {70, 70, 141}, 145
  local A, B = small(dtype, row_major{T, K}), small(dtype, layout({N, K, 3}, {K, 1, N * K}))
  local from, to, weights = {}, {}, {}
  for i = 1, M do
    from[i], weights[i] = i == 7 and -1 or i == 90 and T or i * 7 % T, i % 3 + 0.5
    to[i] = how.add and (i == 100 and 20 or i * 11 % 20) or i * 2 % M
  end
  if not how.gather then
    A = small(dtype, row_major{M, K})
    for i = 1, M do from[i] = i - 1 end
  end
  local index = how.scatter and i32s(to) or nil
  local C = zeros(f32, row_major{how.add and 20 or M, how.glu and N // 2 or N}):to(here)
  matmul(A, B, C, {groups = i32s(ends), config = config, gather = how.gather and i32s(from) or nil,
    scatter = how.add and {index, "add"} or index, glu = how.glu,
    operands = {weights = from_table(f32, weights):to(here)},
    epilogue = how.glu and gated or weighted})
  local a, b, expected = reference.cast(A, f32):to("cpu"), reference.cast(B, f32):to("cpu"), {}
  local products = {}
  for g = 0, 2 do products[g] = reference.matmul(a, b(_, _, g)):to("cpu") end
  for i = 0, ends[3] - 1 do
    local R, row, at = products[i < 70 and 0 or 2], from[i + 1], how.scatter and to[i + 1] or i
    local is_there = row >= 0 and row < size(a, 0)
    for j = 0, size(C, 1) - 1 do
      local v = 0
      if is_there then v = how.glu and R[{row, 2 * j}] + 2 * R[{row, 2 * j + 1}] or R[{row, j}] end
      local n = at * size(C, 1) + j
      expected[n] = (expected[n] or 0) + v * weights[i + 1]
    end
  end
  local got, wrong = C:to("cpu"), 0
  for n = 0, size(C) - 1 do
    if got[{n // size(C, 1), n % size(C, 1)}] ~= (expected[n] or 0) then wrong = wrong + 1 end
  end
  if wrong > 0 then print(config, wrong) end
end

local kinds <const> = { {gather = true, glu = true}, {gather = true, scatter = true},
  {scatter = true}, {scatter = true, add = true}, {gather = true, scatter = true, add = true},
  {glu = true} }
local configs <const> = { {f32, "cpu 32x32x8"}, {f32, "simt 64x64x16 turned"},
  {f16, "mma 64x64x64"},
  {f16, "hopper 128x128x64, gather", gathers = true}, {f16, "hopper 64x64x64", gathers = false},
  {bf16, "hopper 128x128x64", gathers = false} }
for _, c in ipairs(configs) do
  for _, how in ipairs(kinds) do
    local fits = c.gathers == nil or c.gathers == (how.gather or false)
    local runs = not sm or not c[2]:find "cpu" and (sm == 90 or not c[2]:find "hopper")
    if fits and runs then check_rows(c[1], c[2], how) end
  end
end

-- {====== The layer ======

local function layer_of(T, D, F, E, k, all)
  local options = {}
  for key, value in pairs(all) do options[key] = key ~= "host" and value or nil end
  local r = experts.route(view(randn(f32, T * E), row_major{T, E}), k)
  local X, W1 = small(bf16, row_major{T, D}), small(bf16, layout({2 * F, D, E}, {D, 1, 2 * F * D}))
  local W2 = small(bf16, layout({D, F, E}, {F, 1, F * D}))
  local Y = experts.expert_layer(X, W1, W2, r, options)
  local again, out = experts.prepare(X, W1, W2, r, options)
  again()
  print(T, allclose(out, Y, {rtol = 0, atol = options.combine and 1e-3 or 0}))
  local rows, x, w1, w2 = r.tokens:to("cpu"), X:to("cpu"), W1:to("cpu"), W2:to("cpu")
  local ends, weights, sums, at = r.ends:to("cpu"), r.weights:to("cpu"), {}, 0
  local bias = options.bias or {}
  local function bias_of(i, row, e) return bias[i] and bias[i]:to("cpu")[{row, e}] or 0 end
  local activation = all.host or options.activation
    or function(g, u) return g / (1 + math.exp(-g)) * u end
  for e = 0, E - 1 do
    local up = reference.matmul(reference.cast(x, f32), reference.cast(w1(_, _, e), f32)):to("cpu")
    while at < ends[e] do
      local t = rows[at]
      for d = 0, D - 1 do
        local sum = 0
        for f = 0, F - 1 do
          sum = sum + activation(up[{t, 2 * f}] + bias_of(1, 2 * f, e),
            up[{t, 2 * f + 1}] + bias_of(1, 2 * f + 1, e)) * w2[{d, f, e}]
        end
        sum = sum + bias_of(2, d, e)
        sums[t * D + d] = (sums[t * D + d] or 0) + sum * weights[at]
      end
      at = at + 1
    end
  end
  local y, worst, largest = Y:to("cpu"), 0, 1
  for n = 0, T * D - 1 do
    worst = math.max(worst, math.abs(y[{n // D, n % D}] - sums[n]))
    largest = math.max(largest, math.abs(sums[n]))
  end
  print(options.combine, worst / largest < 0.02)
end
layer_of(20, 24, 16, 4, 2, {})
-- expect: 20	true
-- expect: nil	true
layer_of(20, 24, 16, 4, 2, {combine = "atomic", activation = function(g, u) return g * u end})
-- expect: 20	true
-- expect: atomic	true
-- As gpt-oss has it.
local function clamped(gate, up)
  local g = math.min(gate, 7)
  return g / (1 + math.exp(-1.702 * g)) * (math.max(math.min(up, 7), -7) + 1)
end
layer_of(9, 24, 16, 3, 2, {activation = "clamped_swiglu", host = clamped,
  bias = {small(f32, layout{32, 3}), small(bf16, row_major{24, 3})}})
-- expect: 9	true
-- expect: nil	true
layer_of(0, 24, 16, 4, 2, {})
-- expect: 0	true
-- expect: nil	true
-- More than 512 rows of an expert are gathered before: once in the call, and once to be prepared.
do
  local selections, n = require "cuttle.selections", 0
  local gather = selections.gather
  selections.gather = {steps = function(_, ...)
    n = n + 1
    return gather:steps(...)
  end}
  layer_of(520, 16, 8, 2, 2, {})
  layer_of(520, 16, 8, 2, 2, {kept = zeros(bf16, row_major{1040, 16}):to(here)})
  layer_of(500, 16, 8, 2, 2, {})
  print(n)
  selections.gather = gather
end
-- expect: 520	true
-- expect: nil	true
-- expect: 520	true
-- expect: nil	true
-- expect: 500	true
-- expect: nil	true
-- expect: 4

-- A product may be prepared before the routing is launched: until then no group has rows.
local _, routing = require "cuttle.expert_layer".prepare_route(randn(f32, row_major{20, 4}), 2)
print(table.concat(routing.ends:totable(), " "))
-- expect: 0 0 0 0
