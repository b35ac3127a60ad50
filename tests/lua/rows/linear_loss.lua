-- Linear layers with cross entropy in chunks of the vocabulary, and cross entropy of a vocabulary
-- that ranks share, against plain Lua in double precision and central differences.
local rows = require "cuttle.rows"

local N <const>, K <const>, V <const>, IGNORED <const> = 6, 5, 23, -7

-- The losses and lse of logits(r, c), as the definition says.
local function expected(logits, target, smoothing, z)
  local losses, sums = {}, {}
  for r = 0, N - 1 do
    local sum, total = 0.0, 0.0
    for c = 0, V - 1 do sum, total = sum + math.exp(logits(r, c)), total + logits(r, c) end
    local lse, t = math.log(sum), target[{r, 0}]
    sums[r] = lse
    losses[r] = t == IGNORED and 0.0
      or lse - (1 - smoothing) * logits(r, t) - smoothing * total / V + z * lse * lse
  end
  return losses, sums
end

local function worst(got, want)
  local most = 0
  for r = 0, N - 1 do most = math.max(most, math.abs(got[{r, 0}] - want[r])) end
  return most
end

local function dot(x, w)
  return function(r, c)
    local sum = 0.0
    for k = 0, K - 1 do sum = sum + x[{r, k}] * w[{c, k}] end
    return sum
  end
end

local target = from_table(i32, {{3}, {22}, {0}, {IGNORED}, {11}, {7}})

-- {====== In chunks ======

for _, case in ipairs{{0.0, 0.0, nil}, {0.1, 0.0, 8}, {0.2, 0.01, 5}, {0.0, 0.02, 1},
                      {0.3, 0.0, 22}} do
  local smoothing, z, chunk = case[1], case[2], case[3]
  local x, w = randn(f32, row_major{N, K}), randn(f32, row_major{V, K})
  local options = {smoothing = smoothing, z = z, chunk = chunk, ignored = IGNORED}
  local loss, lse = rows.linear_cross_entropy(x, w, target, options)
  local want, want_lse = expected(dot(x, w), target, smoothing, z)
  local error = math.max(worst(loss, want), worst(lse, want_lse))
  local dloss = randn(f32, row_major{N, 1})
  local dx, dw = rows.linear_cross_entropy_backward(dloss, x, w, target, lse, options)
  local function total()
    local losses, sum = expected(dot(x, w), target, smoothing, z), 0.0
    for r = 0, N - 1 do sum = sum + losses[r] * dloss[{r, 0}] end
    return sum
  end
  local slope, H <const> = 0, 1e-2
  for _, at in ipairs{{x, dx, 0}, {x, dx, 17}, {x, dx, 28}, {w, dw, 3}, {w, dw, 50},
                      {w, dw, 114}} do
    local t, got, i = table.unpack(at)
    local old = t[i]
    t[i] = old + H
    local up, above = total(), t[i]
    t[i] = old - H
    slope = math.max(slope, math.abs((up - total()) / (above - t[i]) - got[i]))
    t[i] = old
  end
  local again = {rows.linear_cross_entropy_gradients(dloss, x, w, target,
    {smoothing = smoothing, z = z, rows = chunk and math.min(chunk, 4), ignored = IGNORED})}
  local given = {zeros(f32, row_major{N, 1}), zeros(f32, row_major{N, 1}),
    zeros(f32, row_major{N, K}), zeros(f32, row_major{V, K})}
  rows.linear_cross_entropy_gradients(dloss, x, w, target,
    {smoothing = smoothing, z = z, ignored = IGNORED, out = given})
  for j, t in ipairs{loss, lse, dx, dw} do
    if not allclose(given[j], t, {atol = 1e-5}) then print("given results differ", j) end
    if not allclose(again[j], t, {atol = 1e-5}) then print("both passes at once differ", j) end
  end
  print(smoothing, z, chunk, error < 2e-6 or error, slope < 2e-4 or slope)
end
-- expect: 0.0	0.0	nil	true	true
-- expect: 0.1	0.0	8	true	true
-- expect: 0.2	0.01	5	true	true
-- expect: 0.0	0.02	1	true	true
-- expect: 0.3	0.0	22	true	true

do -- bf16: the gradients' types, a number for dloss, and chunks give what one chunk gives
  local x, w = randn(bf16, row_major{N, K}), randn(bf16, row_major{V, K})
  local loss, lse = rows.linear_cross_entropy(x, w, target, {ignored = IGNORED, chunk = 4})
  local one = rows.linear_cross_entropy(x, w, target, {ignored = IGNORED})
  local dx, dw = rows.linear_cross_entropy_backward(0.5, x, w, target, lse,
    {ignored = IGNORED, chunk = 4})
  local dx_one, dw_one = rows.linear_cross_entropy_backward(0.5, x, w, target, lse,
    {ignored = IGNORED})
  print(dx.dtype, dw.dtype, allclose(loss, one), allclose(dx, dx_one), allclose(dw, dw_one),
    dx[{3, 2}])
end
-- expect: bf16	bf16	true	true	true	0.0

print((select(2, pcall(rows.linear_cross_entropy_gradients, 1.0, zeros(f32, row_major{N, K}),
  zeros(f32, row_major{V, K}), target, {rows = 0})):gsub("^[^ ]+:%d+: ", "")))
-- expect: linear_cross_entropy: rows is 0; an integer from 1 on was expected

-- {====== Parts of ranks ======

do -- three ranks with 8, 8 and 7 columns: logits in memory, and made from a linear layer
  local x, w = randn(f32, row_major{N, K}), randn(f32, row_major{V, K})
  local logits, all = matmul(x, w, zeros(f32, row_major{N, V})), {}
  local options <const> = {smoothing = 0.1, z = 0.01, ignored = IGNORED}
  local loss, lse = rows.linear_cross_entropy(x, w, target, options)
  for i = 1, 6 do all[i] = zeros(f32, row_major{N, 3}) end
  local function part(t, first, n)
    return view(tile(t, {1, 1}, {0, first}), layout({N, n}, {V, 1}))
  end
  local function weight(first, n)
    return view(tile(w, {1, K}, {first, 0}), layout({n, K}, {K, 1}))
  end
  local ranks <const> = {{0, 8}, {8, 8}, {16, 7}}
  for i, rank in ipairs(ranks) do
    local found = {rows.cross_entropy_part(part(logits, rank[1], rank[2]), target, rank[1])}
    local more = {rows.linear_cross_entropy_parts(x, weight(rank[1], rank[2]), target,
      {first = rank[1]})}
    for j = 1, 3 do
      copy(found[j], tile(all[j], {N, 1}, {0, i - 1}))
      copy(more[j], tile(all[j + 3], {N, 1}, {0, i - 1}))
    end
  end
  for first = 1, 4, 3 do
    local merged, merged_lse = rows.cross_entropy_merge(all[first], all[first + 1], all[first + 2],
      target, V, 0.1, 0.01, IGNORED)
    print(allclose(merged, loss), allclose(merged_lse, lse))
  end
  local dx, dw = rows.linear_cross_entropy_backward(1.0, x, w, target, lse, options)
  local sum, is_same = zeros(f32, row_major{N, K}), true
  for _, rank in ipairs(ranks) do
    local mine, dmine = rows.linear_cross_entropy_backward(1.0, x, weight(rank[1], rank[2]), target,
      lse, {smoothing = 0.1, z = 0.01, ignored = IGNORED, first = rank[1], columns = V})
    for i = 0, size(sum) - 1 do sum[i] = sum[i] + mine[i] end
    is_same = is_same and allclose(dmine, view(tile(dw, {1, K}, {rank[1], 0}),
      layout({rank[2], K}, {K, 1})), {atol = 1e-5})
  end
  print(allclose(sum, dx, {atol = 1e-5}), is_same)
end
-- expect: true	true
-- expect: true	true
-- expect: true	true

do -- results that are given
  local x, w = randn(f32, row_major{N, K}), randn(f32, row_major{V, K})
  local loss, lse = rows.linear_cross_entropy(x, w, target, {ignored = IGNORED})
  local out = { zeros(f32, row_major{N, 1}), zeros(f32, row_major{N, 1}) }
  local same = rows.linear_cross_entropy(x, w, target, {out = out, ignored = IGNORED})
  print(same == out[1], allclose(out[1], loss), allclose(out[2], lse))
  local dx, dw = rows.linear_cross_entropy_backward(1.0, x, w, target, lse)
  local given = { zeros(f32, row_major{N, K}), zeros(f32, row_major{V, K}) }
  rows.linear_cross_entropy_backward(1.0, x, w, target, lse, {out = given})
  print(allclose(given[1], dx), allclose(given[2], dw))
end
-- expect: true	true	true
-- expect: true	true

-- {====== The mean, and operators of several launches ======

do -- the mean leaves ignored rows out; its gradient is that of each row times a share
  local x, more = randn(f32, row_major{N, V}), {}
  for _, name in ipairs{"cross_entropy", "smooth_cross_entropy"} do
    if name == "smooth_cross_entropy" then more[1] = 0.1 end
    more[#more + 1] = IGNORED
    local mean, share, loss, lse = rows[name .. "_mean"](x, target, table.unpack(more))
    local sum, own = 0.0, rows[name](x, target, table.unpack(more))
    for r = 0, N - 1 do sum = sum + loss[{r, 0}] end
    local d = full(f32, row_major{1, 1}, 3.0)
    local dx = rows[name .. "_mean_backward"](d, share, x, target, lse, table.unpack(more))
    local want = rows[name .. "_backward"](full(f32, row_major{N, 1}, 3.0 / (N - 1)), x, target,
      lse, table.unpack(more))
    print(mean.shape, math.abs(mean[0] - sum / (N - 1)) < 1e-6,
      math.abs(share[0] - 1 / (N - 1)) < 1e-7, allclose(loss, own), allclose(dx, want))
    more[#more] = nil
  end
end
-- expect: (1,1)	true	true	true	true
-- expect: (1,1)	true	true	true	true

do -- prepared, with given results
  local x, w = randn(f32, row_major{N, K}), randn(f32, row_major{V, K})
  local options = {chunk = 8, ignored = IGNORED}
  local launch, results = rows.linear_cross_entropy:prepare(x, w, target, options)
  local fill = kernel("fill", function(t) t[{threadIdx.x, 0}] = 7.0 end)
  fill{grid = 1, block = N}(results[1])
  launch()
  print(allclose(results[1], (rows.linear_cross_entropy(x, w, target, options))), #results)
  local e = rows.linear_cross_entropy:explain(x, w, target, options)
  print(e.launches, e.text:match "^3 times matmul: ", e.text:match "\n(cross_entropy_merge): ")
  local out = {}
  for i, n in ipairs{1, 1, N, N} do out[i] = zeros(f32, row_major{n, 1}) end
  local logits = matmul(x, w, zeros(f32, row_major{N, V}))
  rows.cross_entropy_mean:prepare(logits, target, IGNORED, {out = out})()
  print(allclose(out[3], results[1]), allclose(out[4], results[2]))
end
-- expect: true	2
-- expect: 7	3 times matmul: 	cross_entropy_merge
-- expect: true	true

-- {====== What is refused ======

local function refused(...)
  print((select(2, pcall(rows.linear_cross_entropy, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local x, w = zeros(f32, row_major{N, K}), zeros(f32, row_major{V, K})
refused(x, zeros(f32, row_major{V, 4}), target)
-- expect: linear_cross_entropy: x is (6,5) and weight is (23,4); expected (rows, K) and (columns, K)
refused(x, w, zeros(i32, row_major{5, 1}))
-- expect: linear_cross_entropy: target is (5,1); expected (6,1), a column for each row
refused(x, w, target, {chunk = 0})
-- expect: linear_cross_entropy: chunk is 0; an integer from 1 on was expected
refused(x, zeros(f32, 4), target)
-- expect: linear_cross_entropy: weight is 4; expected 2 modes
refused(x, 3, target)
-- expect: linear_cross_entropy: weight is of type number; a tensor of 2 modes was expected
print((select(2, pcall(rows.linear_cross_entropy.prepare, x, w, target)):gsub("^[^ ]+:%d+: ", "")))
-- expect: row_operator: a method was called with '.'; write ':', as in rows.linear_cross_entropy:prepare(x, weight, target)
print((select(2, pcall(rows.cross_entropy_mean, x, zeros(i32, N), -1)):gsub("^[^ ]+:%d+: ", "")))
-- expect: cross_entropy_mean: target is 6; expected 2 modes
refused(x, w, target, {chunks = 3})
-- expect: linear_cross_entropy: option 'chunks' is unknown; did you mean 'chunk'?
refused(x, w, target, {out = {zeros(f32, row_major{N, 1})}})
-- expect: linear_cross_entropy: out has 1 tensor; the function returns 2 values
local lse = zeros(f32, row_major{N, 1})
print((select(2, pcall(rows.linear_cross_entropy_backward, 1.0, x, w, target, lse,
  {out = {x, zeros(f32, row_major{V, 4})}})):gsub("^[^ ]+:%d+: ", "")))
-- expect: linear_cross_entropy: out[2] is f32 of shape (23,4); expected f32 of shape (23,5)
print((select(2, pcall(rows.linear_cross_entropy_backward, 1.0, x, w, target, lse, {out = {x, w}}))
  :gsub("^[^ ]+:%d+: ", "")))
-- expect: linear_cross_entropy: out[1] shares memory with x; give out[1] memory of its own

do -- in memory that is given
  local hidden, table_ = randn(bf16, row_major{6, 16}), randn(bf16, row_major{100, 16})
  local token, same = from_table(i64, {{1}, {99}, {-100}, {5}, {50}, {0}}), true
  local _, sums = rows.linear_cross_entropy(hidden, table_, token)
  for _, case in ipairs{{"linear_cross_entropy", {hidden, table_, token}},
    {"linear_cross_entropy_backward", {0.5, hidden, table_, token, sums}},
    {"linear_cross_entropy_gradients", {0.5, hidden, table_, token}}} do
    local name, args = table.unpack(case)
    local options, n_args = {chunk = name:find "gradients" == nil and 30 or nil}, #args + 1
    args[n_args] = options
    local plain = {rows[name](table.unpack(args))}
    options.work, options.stream = zeros(f32, rows[name]:work(table.unpack(args))), stream()
    for i, t in ipairs{rows[name](table.unpack(args))} do
      same = same and allclose(t, plain[i], {rtol = 0, atol = 0}) and options.work[0] ~= 0
    end
  end
  print(same)
end
-- expect: true
