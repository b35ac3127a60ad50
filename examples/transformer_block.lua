-- transformer_block.lua: a language model of one block, forward and backward, from products,
-- attention and operators of rows; then some steps of training. In its sequences each token follows
-- from the one before, so the loss must fall. Gradients are compared with differences of the loss.
-- Usage: cuttle transformer_block.lua [steps]
local rows = require "cuttle.rows"
local n_steps = tonumber(arg[1] or 20)
local B, S, HEADS, D, WORDS, INNER = 4, 16, 2, 16, 32, 64  -- sequences, tokens, heads, depth of one
local WIDTH, T = HEADS * D, B * S                          -- of the model; tokens in all
local EPSILON <const>, RATE <const> = 1e-5, 0.01

-- {====== Parameters ======

-- Rows of a weight are what it makes, columns what it reads: y = x W'.
local function weight(n_out, n_in)
  local w = randn(f32, row_major{n_out, n_in})
  for i = 0, size(w) - 1 do w[i] = w[i] * n_in ^ -0.5 end
  return w
end

local names = {"words", "norm1", "query", "key", "value", "out", "norm2", "gate", "up", "down",
               "norm3", "head"}
local p = {words = weight(WORDS, WIDTH), head = weight(WORDS, WIDTH),
  query = weight(WIDTH, WIDTH), key = weight(WIDTH, WIDTH), value = weight(WIDTH, WIDTH),
  out = weight(WIDTH, WIDTH), gate = weight(INNER, WIDTH), up = weight(INNER, WIDTH),
  down = weight(WIDTH, INNER), norm1 = ones(f32, WIDTH), norm2 = ones(f32, WIDTH),
  norm3 = ones(f32, WIDTH)}

-- {====== Pieces ======

local add = row_kernel("add", function(_, a, b) return a + b end)

-- A row of the table for each token, and its gradient: tokens that are alike meet in one row.
local look_up = kernel("look_up", function(tokens, words, x)
  x[{blockIdx.x, threadIdx.x}] = words[{tokens[blockIdx.x], threadIdx.x}]
end)
local look_up_backward = kernel("look_up_backward", function(tokens, dx, dwords)
  atomic_add(dwords, {tokens[blockIdx.x], threadIdx.x}, dx[{blockIdx.x, threadIdx.x}])
end)

-- x W', row-major, as heads() below needs it.
local function linear(x, w)
  return matmul(x, w, zeros(f32, row_major{size(x, 0), size(w, 0)}))
end

-- The gradients of y = x W'.
local function linear_backward(dy, x, w)
  return linear(dy, select(w, 1, 0)), linear(select(dy, 1, 0), select(x, 1, 0))
end

-- (T,WIDTH) as (B,HEADS,S,D), and back; both are views.
local function heads(x) return view(x, layout({B, HEADS, S, D}, {S * WIDTH, D, WIDTH, 1})) end

local adamw = kernel("adamw", function(w, g, m, v, step)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(w) then
    m[i] = 0.9 * m[i] + 0.1 * g[i]
    v[i] = 0.99 * v[i] + 0.01 * g[i] * g[i]
    local mean, square = m[i] / (1.0 - 0.9 ^ step), v[i] / (1.0 - 0.99 ^ step)
    w[i] = w[i] * (1.0 - RATE * 0.01) - RATE * mean / (sqrt(square) + 1e-8)
  end
end)

-- {====== The block ======

-- All that the backward pass needs, and the loss of each token.
local function forward(tokens, targets)
  local a = {x = zeros(f32, row_major{T, WIDTH})}
  look_up{grid = T, block = WIDTH}(tokens, p.words, a.x)
  a.normal1, a.scale1 = rows.rms_norm(a.x, p.norm1, EPSILON)
  a.q, a.k, a.v = linear(a.normal1, p.query), linear(a.normal1, p.key), linear(a.normal1, p.value)
  a.mixed = zeros(f32, row_major{T, WIDTH})
  a.O, a.LSE = attention(heads(a.q), heads(a.k), heads(a.v),
    {causal = true, lse = true, out = heads(a.mixed)})
  a.after = add(a.x, linear(a.mixed, p.out))
  a.normal2, a.scale2 = rows.rms_norm(a.after, p.norm2, EPSILON)
  a.gate, a.up = linear(a.normal2, p.gate), linear(a.normal2, p.up)
  a.inner = rows.swiglu(a.gate, a.up)
  a.last = add(a.after, linear(a.inner, p.down))
  a.normal3, a.scale3 = rows.rms_norm(a.last, p.norm3, EPSILON)
  a.logits = linear(a.normal3, p.head)
  a.loss, a.lse = rows.cross_entropy(a.logits, targets, -1)
  return a
end

-- The gradient of the mean loss by each parameter.
local function backward(a, tokens, targets)
  local g = {words = zeros(f32, row_major{WORDS, WIDTH})}
  local dloss = full(f32, row_major{T, 1}, 1.0 / T)
  local dlogits = rows.cross_entropy_backward(dloss, a.logits, targets, a.lse, -1)
  local dnormal3, dlast, dinner, dgate, dup, dafter
  dnormal3, g.head = linear_backward(dlogits, a.normal3, p.head)
  dlast, g.norm3 = rows.rms_norm_backward(dnormal3, a.last, p.norm3, a.scale3)
  dinner, g.down = linear_backward(dlast, a.inner, p.down)
  dgate, dup = rows.swiglu_backward(dinner, a.gate, a.up)
  local by_gate, by_up
  by_gate, g.gate = linear_backward(dgate, a.normal2, p.gate)
  by_up, g.up = linear_backward(dup, a.normal2, p.up)
  dafter, g.norm2 = rows.rms_norm_backward(add(by_gate, by_up), a.after, p.norm2, a.scale2)
  dafter = add(dafter, dlast)                              -- around the norm and the gate
  local dmixed
  dmixed, g.out = linear_backward(dafter, a.mixed, p.out)
  local dq, dk, dv = zeros(f32, row_major{T, WIDTH}), zeros(f32, row_major{T, WIDTH}),
    zeros(f32, row_major{T, WIDTH})
  attention_backward(heads(dmixed), heads(a.q), heads(a.k), heads(a.v), a.O, a.LSE,
    {causal = true, out = {heads(dq), heads(dk), heads(dv)}})
  local by_q, by_k, by_v
  by_q, g.query = linear_backward(dq, a.normal1, p.query)
  by_k, g.key = linear_backward(dk, a.normal1, p.key)
  by_v, g.value = linear_backward(dv, a.normal1, p.value)
  local dx
  dx, g.norm1 = rows.rms_norm_backward(add(add(by_q, by_k), by_v), a.x, p.norm1, a.scale1)
  look_up_backward{grid = T, block = WIDTH}(tokens, add(dx, dafter), g.words)
  return g
end

-- {====== Training ======

local function mean(t)
  local sum, values = 0, t:totable()
  for _, v in ipairs(values) do sum = sum + (type(v) == "table" and v[1] or v) end
  return sum / #values
end

-- Sequences in which 5 x + 1 follows x, and what follows each token.
local function batch()
  local tokens, targets = zeros(i32, T), zeros(i32, row_major{T, 1})
  for b = 0, B - 1 do
    local word = math.random(0, WORDS - 1)
    for s = 0, S - 1 do
      tokens[b * S + s] = word
      word = (5 * word + 1) % WORDS
      targets[{b * S + s, 0}] = word
    end
  end
  return tokens, targets
end

-- The gradient against differences of the loss, at one place of each parameter.
local function gradients_are_right()
  local tokens, targets = batch()
  local g = backward(forward(tokens, targets), tokens, targets)
  local STEP <const> = 2e-3
  for _, name in ipairs(names) do
    local w, i = p[name], math.random(0, size(p[name]) - 1)
    local old = w[i]
    w[i] = old + STEP
    local above = mean(forward(tokens, targets).loss)
    w[i] = old - STEP
    local below = mean(forward(tokens, targets).loss)
    w[i] = old
    local want = (above - below) / (2 * STEP)
    if math.abs(g[name][i] - want) > 2e-3 + 0.02 * math.abs(want) then
      print(name, i, g[name][i], want)
      return false
    end
  end
  return true
end

math.randomseed(1)
local ok = gradients_are_right()
local moments = {}
for _, name in ipairs(names) do
  moments[name] = {zeros(f32, size(p[name])), zeros(f32, size(p[name]))}
end
local first, last
for step = 1, n_steps do
  local tokens, targets = batch()
  local a = forward(tokens, targets)
  local g = backward(a, tokens, targets)
  for _, name in ipairs(names) do
    local w, n = p[name], size(p[name])
    local flat = layout(n)
    adamw{grid = cdiv(n, 256), block = 256}(view(w, flat), view(g[name], flat),
      moments[name][1], moments[name][2], 1.0 * step)
  end
  last = mean(a.loss)
  first = first or last
end
ok = ok and last < 0.7 * first
print(("transformer block on %s: %s, loss %.3f after 1 step, %.3f after %d"):format(device().name,
  ok and "gradients are right" or "wrong", first, last, n_steps))
os.exit(ok, true)
