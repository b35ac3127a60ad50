-- AdamW and SGD over lists of tensors against plain Lua in double precision: lengths that blocks and
-- vectors do not divide, types, masters, clipping; stochastic rounding; the norm of all gradients.
local optimizers = require "cuttle.optimizers"

local lengths <const> = {1, 3, 4, 5, 4096, 4099, 10007}

local function list(dtype, scale)
  local out = {}
  for i, n in ipairs(lengths) do
    out[i] = randn(dtype, i % 2 == 0 and row_major{n, 1} or layout(n))
    for e = 0, n - 1 do out[i][e] = out[i][e] * scale end
  end
  return out
end

local function values(tensors)
  local out = {}
  for i, t in ipairs(tensors) do
    out[i] = {}
    for e = 0, size(t) - 1 do out[i][e] = t[e] + 0.0 end
  end
  return out
end

local function norm_of(gradients)
  local sum = 0.0
  for _, g in ipairs(gradients) do
    for e = 0, #g do sum = sum + g[e] * g[e] end
  end
  return math.sqrt(sum)
end

-- {====== AdamW ======

local B1 <const>, B2 <const>, EPSILON <const> = 0.8, 0.95, 1e-6
local RATE <const>, DECAY <const> = 0.02, 0.1

local function adamw(p, g, m, v, count, clip)
  for i in ipairs(p) do
    for e = 0, #p[i] do
      local slope = g[i][e] * clip
      m[i][e] = B1 * m[i][e] + (1 - B1) * slope
      v[i][e] = B2 * v[i][e] + (1 - B2) * slope * slope
      local root = math.sqrt(v[i][e] / (1 - B2 ^ count)) + EPSILON
      p[i][e] = p[i][e] * (1 - RATE * DECAY) - RATE * (m[i][e] / (1 - B1 ^ count)) / root
    end
  end
end

local function zeros_of(p)
  local out = {}
  for i in ipairs(p) do
    out[i] = {}
    for e = 0, #p[i] do out[i][e] = 0.0 end
  end
  return out
end

local function worst(tensors, want)
  local most = 0
  for i, t in ipairs(tensors) do
    for e = 0, size(t) - 1 do most = math.max(most, math.abs(t[e] - want[i][e])) end
  end
  return most
end

for _, case in ipairs{{f32, f32}, {f32, f32, 3.0}, {bf16, bf16, 3.0, true}, {bf16, f32, nil, true},
                      {f16, f16}} do
  local dtype, slope, most, masters = table.unpack(case, 1, 4)
  local parameters = list(dtype, 1.0)
  local optimizer = optimizers.adamw(parameters, {masters = masters})
  local p = values(parameters)
  local m, v, norm_error = zeros_of(p), zeros_of(p), 0
  for count = 1, 3 do
    local gradients = list(slope, 0.1)
    local g = values(gradients)
    local norm = norm_of(g)
    local got = optimizer:step(gradients, {beta1 = B1, beta2 = B2, epsilon = EPSILON, rate = RATE,
      decay = DECAY, max_norm = most})
    if got then norm_error = math.max(norm_error, math.abs(got[0] / norm - 1)) end
    adamw(p, g, m, v, count, most and math.min(1, most / (norm + 1e-6)) or 1)
    if not masters and dtype ~= f32 then p = values(parameters) end -- narrow ones lose bits
  end
  local limit = (masters or dtype == f32) and 1e-5 or 1e-2
  print(dtype, slope, most, masters, worst(optimizer.masters or parameters, p) < limit,
    worst(optimizer.states[1], m) < 1e-6, worst(optimizer.states[2], v) < 1e-6, norm_error < 1e-5)
  if masters then
    local is_rounded = true
    for i, t in ipairs(optimizer.masters) do
      local narrow = reference.cast(t, dtype)
      for e = 0, size(t) - 1 do is_rounded = is_rounded and narrow[e] == parameters[i][e] end
    end
    print("rounded", is_rounded)
  end
end
-- expect: f32	f32	nil	nil	true	true	true	true
-- expect: f32	f32	3.0	nil	true	true	true	true
-- expect: bf16	bf16	3.0	true	true	true	true	true
-- expect: rounded	true
-- expect: bf16	f32	nil	true	true	true	true	true
-- expect: rounded	true
-- expect: f16	f16	nil	nil	true	true	true	true

do -- types may be mixed, and tensors may be empty
  local mixed = {ones(bf16, 5), ones(f32, row_major{2, 3}), zeros(f32, 0)}
  local optimizer = optimizers.adamw(mixed)
  optimizer:step({ones(bf16, 5), ones(f32, row_major{2, 3}), zeros(f32, 0)},
    {rate = 0.5, decay = 0.0})
  print(mixed[1][4], math.abs(mixed[2][{1, 2}] - 0.5) < 1e-7, optimizer)
end
-- expect: 0.5	true	optimizer adamw of 3 tensors after 1 step

do -- stochastic rounding: the mean of many is the exact value, each is a neighbour
  local n <const> = 20000
  local p = full(bf16, n, 1.0)
  local optimizer = optimizers.sgd({p}, {stochastic = true, seed = 5})
  local by <const> = 0.3 / 128 -- of the spacing above 1
  optimizer:step({full(f32, n, -by)}, {rate = 1.0})
  local n_up, is_neighbour = 0, true
  for e = 0, n - 1 do
    if p[e] > 1 then n_up = n_up + 1 end
    is_neighbour = is_neighbour and (p[e] == 1.0 or p[e] == 1.0 + 1 / 128)
  end
  print(is_neighbour, math.abs(n_up / n - 0.3) < 0.02 or n_up)
  local again = full(bf16, n, 1.0)
  optimizers.sgd({again}, {stochastic = true, seed = 5}):step({full(f32, n, -by)}, {rate = 1.0})
  print(allclose(again, p, {rtol = 0, atol = 0}))
end
-- expect: true	true
-- expect: true

-- {====== SGD and the norm ======

for _, nesterov in ipairs{false, true} do
  local parameters = list(f32, 1.0)
  local optimizer = optimizers.sgd(parameters)
  local p = values(parameters)
  local v = zeros_of(p)
  for _ = 1, 2 do
    local gradients = list(f32, 1.0)
    local g = values(gradients)
    optimizer:step(gradients, {rate = 0.1, momentum = 0.9, decay = 0.01, nesterov = nesterov})
    for i in ipairs(p) do
      for e = 0, #p[i] do
        local d = g[i][e] + 0.01 * p[i][e]
        v[i][e] = 0.9 * v[i][e] + d
        p[i][e] = p[i][e] - 0.1 * (nesterov and d + 0.9 * v[i][e] or v[i][e])
      end
    end
  end
  print(nesterov, worst(parameters, p) < 1e-5)
end
-- expect: false	true
-- expect: true	true
do
  local gradients = list(bf16, 2.0)
  print(math.abs(optimizers.gradient_norm(gradients)[0] / norm_of(values(gradients)) - 1) < 1e-6)
end
-- expect: true

-- {====== What is refused ======

local function refused(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local one = {ones(f32, row_major{4, 2})}
local optimizer = optimizers.adamw(one)
refused(optimizers.adamw, {})
-- expect: adamw: parameters is an empty list; expected a list of tensors, {a, b}
refused(optimizers.adamw, {ones(i32, 3)})
-- expect: adamw: parameters[1] has elements of type i32; expected a float type
refused(optimizers.adamw, {ones(f32, 3)}, {stochastic = true})
-- expect: adamw: parameters[1] has elements of type f32; stochastic rounding is for bf16
refused(optimizers.adamw, {view(ones(f32, 8), layout({4, 2}, {2, 0}))})
-- expect: adamw: parameters[1] is (4,2):(2,0); expected a tensor without gaps or repeated elements
refused(optimizer.step, optimizer, {ones(f32, 8)})
-- expect: adamw: gradients[1] is 8:1, but parameters[1] is (4,2):(2,1); expected the same layout
refused(optimizer.step, optimizer, {one[1], one[1]})
-- expect: adamw: 2 gradients; expected 1, one for each parameter
refused(optimizer.step, optimizer, one, {beta1 = 1.0})
-- expect: adamw: beta1 is 1.0 and beta2 is 0.999; expected numbers below 1
refused(optimizer.step, optimizer, one, {rate = -1.0})
-- expect: adamw: rate is -1.0; expected a number from 0 on
refused(optimizer.step, optimizer, one, {max_norm = 0})
-- expect: adamw: max_norm is 0; expected a number above 0
refused(optimizer.step, optimizer, one, {lr = 1.0})
-- expect: adamw: option 'lr' is unknown; expected beta1, beta2, decay, epsilon, max_norm, rate or stream
refused(optimizer.step, one, one)
-- expect: step: it is called on a table; write t:step(...), with a colon, for a t of type optimizer
refused(optimizers.gradient_norm, {1})
-- expect: gradient_norm: gradients[1] is of type number; a tensor of any shape was expected
print(optimizer.count)
-- expect: 0
