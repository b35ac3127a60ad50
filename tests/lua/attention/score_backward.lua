-- attention_backward with masks and scores against central differences of reference.attention in
-- double precision: each option on each template, several tiles, packed sequences; nothing that
-- check finds; the gradient of sinks; and what is refused.
local backward = require "cuttle.attention_backward"

local function flat(t) return view(t, layout{size(t)}) end

local function wide(t) return view(from_table(f64, flat(t):totable()), t.layout) end

local function dot(a, b)
  local sum, x, y = 0, flat(a):totable(), flat(b):totable()
  for i, v in ipairs(x) do sum = sum + v * y[i] end
  return sum
end

-- The difference along a random direction of x, of the gradient's length.
local function worst_of(x, gradient, loss)
  local H <const> = 1e-4
  x = flat(x)
  local old, along = x:totable(), randn(f64, {size(x)}):totable()
  local function loss_at(h)
    for i = 0, size(x) - 1 do x[i] = old[i + 1] + h * along[i + 1] end
    return loss()
  end
  local slope, sum, squares = (loss_at(H) - loss_at(-H)) / (2 * H), 0, 0
  for i, g in ipairs(flat(gradient):totable()) do
    sum, squares = sum + g * along[i], squares + g * g
    x[i - 1] = old[i]
  end
  return math.abs(slope - sum) / math.sqrt(squares)
end

local function with(options, changes)
  local new = {}
  for _, list in ipairs { options, changes } do
    for name, value in pairs(list) do new[name] = value end
  end
  return new
end

-- With the configuration's kernels under check, which raises what it finds.
local function gradients(dO, Q, K, V, options, own)
  local O, LSE = attention(Q, K, V, with(options, {lse = true}))
  local _, _, results, steps = backward.prepare(dO, Q, K, V, O, LSE,
    with(options, own))
  for _, step in ipairs(steps) do
    step.launch.check = not device().sm
    step.kernel(step.launch)(table.unpack(step.args))
  end
  return results
end

local function try(config, dtype, shape_Q, shape_K, options, deterministic)
  local Q, dO = randn(dtype, row_major(shape_Q)), randn(dtype, row_major(shape_Q))
  local K, V = randn(dtype, row_major(shape_K)), randn(dtype, row_major(shape_K))
  local got = gradients(dO, Q, K, V, options,
    {config = config, deterministic = deterministic})
  local inputs, g = {wide(Q), wide(K), wide(V)}, wide(dO)
  if options.sinks then
    inputs[4] = wide(options.sinks)
    options = with(options, {sinks = inputs[4]})
  end
  local function loss()
    return dot(g, (reference.attention(inputs[1], inputs[2], inputs[3], options)))
  end
  for i, x in ipairs(inputs) do
    local worst = worst_of(x, got[i], loss)
    if worst ~= worst or worst >= (dtype == f32 and 1e-5 or 2e-2) then
      return ("gradient %d: %g"):format(i, worst)
    end
  end
  return true
end

-- Of 2 heads, S queries and SK keys.
local function options_of(S, SK)
  local slopes = from_table(f32, {0.5, 0.25})
  return {
    { window = {20, 5}, softcap = 1.5 },
    { window = {7, -1}, alibi = slopes, causal = true, sinks = from_table(f32, {0.5, -1}) },
    { bias = randn(f32, row_major{2, S, SK}), window = {-1, 9},
      score = function(s, q, _, h, _, t, x) return s * s * x + s + t[q] + 0.125 * h end,
      score_gradient = function(s, _, _, _, _, _, x) return 2.0 * x * s + 1.0 end,
      operands = {randn(f32, S), 0.25} },
    { mask = function(q, k, h) return (q // 8 + k // 8 + h) % 3 ~= 0 end, softcap = 2.0,
      dropout = 0.25, seed = 3 },
    { dropout = 0.5, seed = 123456789,
      documents = S == SK and {S // 3, S - S // 3} or nil,
      causal = true, softcap = 3.0 },
  }
end

manual_seed(1)
math.randomseed(1)
for i, options in ipairs(options_of(30, 40)) do
  print(i, try("plain", f32, {1, 2, 30, 12}, {1, 1, 40, 12}, options))
end
-- expect: 1	true
-- expect: 2	true
-- expect: 3	true
-- expect: 4	true
-- expect: 5	true
for i, options in ipairs(options_of(66, 132)) do
  print(i, try("hopper 64x128", bf16, {1, 2, 66, 32}, {1, 1, 132, 32}, options))
end
-- expect: 1	true
-- expect: 2	true
-- expect: 3	true
-- expect: 4	true
-- expect: 5	true
print(try("hopper 128x128", f16, {1, 2, 130, 32}, {1, 1, 130, 32}, options_of(130, 130)[5]))
-- expect: true
print(try("hopper 64x128", bf16, {1, 1, 200, 32}, {1, 1, 200, 32}, {window = {30, 10}}, true))
-- expect: true
for _, i in ipairs{1, 3, 5} do
  print(i, try("hopper 64x64", bf16, {1, 2, 66, 136}, {1, 1, 70, 136}, options_of(66, 70)[i]))
end
-- expect: 1	true
-- expect: 3	true
-- expect: 5	true

-- Packed sequences, of which one has no queries.
local packed = {cu_seqlens_q = {0, 20, 20, 70}, cu_seqlens_k = {0, 30, 40, 100}, window = {20, 3},
  alibi = from_table(f32, {{0.5, 0.1}, {0.2, 0.3}, {0.4, 0.6}})}
print(try("plain", f32, {2, 70, 12}, {1, 100, 12}, packed))               -- expect: true
print(try("hopper 64x128", bf16, {2, 70, 32}, {1, 100, 32}, packed))      -- expect: true

-- Tiles of queries that a mask hides from a tile of keys are not read for it: they are NaN here.
do
  local Q, K = randn(bf16, row_major{1, 1, 200, 32}), randn(bf16, row_major{1, 1, 200, 32})
  local options = {mask = function(q, k) return (q >= 128) == (k >= 128) end}
  local O, LSE = attention(Q, K, K, {mask = options.mask, lse = true})
  fill(view(Q, row_major{128, 32}), 0 / 0)
  options.config = "hopper 64x128"
  local _, dK = attention_backward(Q, Q, K, K, O, LSE, options)
  print(dK[{0, 0, 0, 0}] ~= dK[{0, 0, 0, 0}], dK[{0, 0, 128, 0}] == dK[{0, 0, 128, 0}])
end -- expect: true	true

local Q = randn(f32, row_major{1, 2, 4, 4})
local O, LSE = attention(Q, Q, Q, {lse = true})
print((select(2, pcall(attention_backward, Q, Q, Q, Q, O, LSE, {score = function(s) return s end}))
  :gsub("^[^ ]+: ", "")))
-- expect: attention_backward: the derivative of `score` is missing; give {score_gradient = function(s, q, k, h, b, operands...) ... end}
