-- Gradients of a layer of experts and of its router: against plain loops in double precision, with
-- and without an activation of one's own, of each type; launched again; of what the layer kept; of
-- no tokens. A training step whose loss falls.
local experts = require "cuttle.expert_layer"
local here = zeros(f32, 1).device

local function numbers(t)
  local x, list = t:to("cpu"), {}
  for i = 0, size(x) - 1 do list[i] = x[i] end
  return list
end

-- {====== The plain way ======

local function silu(g, u)
  local s = 1 / (1 + math.exp(-g))
  return g * s * u, s * (1 + g * (1 - s)) * u, g * s
end

local function product(g, u) return g * u, u, g end

-- All gradients of the pairs, by plain loops; elements of a tensor are by its coordinates.
local function plain(dY, X, W1, W2, r, f)
  local T, D, F = size(X, 0), size(X, 1), size(W2, 1)
  local dX, dW1, dW2, dw = {}, {}, {}, {}
  local tokens, ends, weights = r.tokens:to("cpu"), r.ends:to("cpu"), r.weights:to("cpu")
  local function add(list, i, v) list[i] = (list[i] or 0) + v end
  local e = 0
  for i = 0, T * r.k - 1 do
    while ends[e] <= i do e = e + 1 end
    local t, w = tokens[i], weights[i]
    dw[i] = 0
    for h = 0, F - 1 do
      local gate, up, d = 0, 0, 0
      for j = 0, D - 1 do
        gate, up = gate + X[{t, j}] * W1[{2 * h, j, e}], up + X[{t, j}] * W1[{2 * h + 1, j, e}]
        d = d + dY[{t, j}] * W2[{j, h, e}]
      end
      local hidden, by_gate, by_up = f(gate, up)
      dw[i] = dw[i] + d * hidden
      for j = 0, D - 1 do
        add(dW2, (e * D + j) * F + h, dY[{t, j}] * hidden * w)
        add(dW1, (e * 2 * F + 2 * h) * D + j, d * w * by_gate * X[{t, j}])
        add(dW1, (e * 2 * F + 2 * h + 1) * D + j, d * w * by_up * X[{t, j}])
        add(dX, t * D + j, d * w * (by_gate * W1[{2 * h, j, e}] + by_up * W1[{2 * h + 1, j, e}]))
      end
    end
  end
  return { dX, dW1, dW2, dw }
end

-- The largest error of elements in the order of `order`, beside the largest element.
local function error_of(got, order, want)
  local list, worst, largest = numbers(view(got, order)), 0, 1e-30
  for i = 0, size(got) - 1 do
    worst = math.max(worst, math.abs(list[i] - (want[i] or 0)))
    largest = math.max(largest, math.abs(want[i] or 0))
  end
  return worst / largest
end

-- {====== The layer ======

local function weights_of(dtype, rows, columns, E)
  return randn(dtype, layout({rows, columns, E}, {columns, 1, rows * columns}))
end

local function host(t) return t:to("cpu") end

-- The layer that keeps gates and ups has the same result, also launched again; and its gradients,
-- which leave these as they are, and come from them.
local function check_kept(dY, X, W1, W2, r, options, want, bound)
  local F, n, activation = size(W2, 1), size(r.tokens), nil
  if options.gradient then activation = function(gate, up) return gate * up end end
  local kept = full(X.dtype, row_major{n, 2 * F}, 7):to(here)
  local Y = experts.expert_layer(X, W1, W2, r, {activation = activation})
  local Z = experts.expert_layer(X, W1, W2, r, {activation = activation, kept = kept})
  local before = host(kept)
  local again, of_list = experts.prepare(X, W1, W2, r, {activation = activation, kept = kept})
  again()
  local how = {gradient = options.gradient, kept = kept}
  local got = {experts.expert_layer_backward(dY, X, W1, W2, r, how)}
  local launch, list = experts.prepare_backward(dY, X, W1, W2, r, how)
  launch()
  local ok = error_of(Z, layout{size(Z)}, numbers(view(Y, layout{size(Y)}))) < bound
    and reference.difference(host(Z), host(of_list)) == nil
    and reference.difference(host(kept), before) == nil
  for i, x in ipairs(got) do
    ok = ok and error_of(x, layout{size(x)}, want[i]) < bound
      and reference.difference(host(x), host(list[i])) == nil
  end
  clear(kept)
  local _, _, of_nothing = experts.expert_layer_backward(dY, X, W1, W2, r, how)
  return ok and reference.difference(host(of_nothing), zeros(X.dtype, W2.layout):to("cpu")) == nil
end

local function check(dtype, T, D, F, E, k, options, f, bound)
  local X, dY = randn(dtype, row_major{T, D}), randn(dtype, row_major{T, D})
  local W1, W2 = weights_of(dtype, 2 * F, D, E), weights_of(dtype, D, F, E)
  local r = experts.route(randn(f32, row_major{T, E}), k)
  local got = { experts.expert_layer_backward(dY, X, W1, W2, r, options) }
  local want = plain(host(dY), host(X), host(W1), host(W2), r, f)
  local again, list = experts.prepare_backward(dY, X, W1, W2, r, options)
  again()
  local ok = true
  for i, x in ipairs(got) do
    local err = error_of(x, layout{size(x)}, want[i])
    ok = ok and err < bound and reference.difference(host(x), host(list[i])) == nil
    if not ok then print(dtype, i, err) end
  end
  ok = ok and check_kept(dY, X, W1, W2, r, options, want, bound)
  print(dtype, got[1].dtype, got[2].layout, got[3].layout, got[4].dtype, ok)
end
check(f32, 9, 12, 8, 3, 2, {}, silu, 1e-5)
check(bf16, 20, 24, 16, 4, 2, {}, silu, 2e-2)
check(f16, 20, 16, 24, 5, 1, {gradient = product}, product, 5e-3)
-- expect: f32	f32	(16,12,3):(12,1,192)	(12,8,3):(8,1,96)	f32	true
-- expect: bf16	bf16	(32,24,4):(24,1,768)	(24,16,4):(16,1,384)	f32	true
-- expect: f16	f16	(48,16,5):(16,1,768)	(16,24,5):(24,1,384)	f32	true

-- Gradients of weights in f32, in tensors that are there; of no tokens they are 0.
do
  local out = { gate_up = full(f32, layout({32, 24, 4}, {24, 1, 768}), 7),
                down = full(f32, layout({24, 16, 4}, {16, 1, 384}), 7) }
  local r = experts.route(zeros(f32, row_major{0, 4}), 2)
  local function none() return zeros(bf16, row_major{0, 24}) end
  local dX, dW1 = experts.expert_layer_backward(none(), none(), weights_of(bf16, 32, 24, 4),
    weights_of(bf16, 24, 16, 4), r, {out = out})
  print(dX.layout, dW1 == out.gate_up, allclose(out.down, zeros(f32, out.down.layout)))
end
-- expect: (0,24):(24,1)	true	true

-- Added to what is there: twice the gradients, which are rounded once.
do
  local T, D, F, E, k = 30, 24, 16, 4, 2
  local X, dY = randn(bf16, row_major{T, D}), randn(bf16, row_major{T, D})
  local W1, W2 = weights_of(bf16, 2 * F, D, E), weights_of(bf16, D, F, E)
  local r = experts.route(randn(f32, row_major{T, E}), k)
  local out = { gate_up = zeros(f32, W1.layout):to(here), down = zeros(f32, W2.layout):to(here) }
  local _, once, down = experts.expert_layer_backward(dY, X, W1, W2, r)
  local how = {out = out, accumulate = true}
  for _ = 1, 2 do experts.expert_layer_backward(dY, X, W1, W2, r, how) end
  local function is_twice(x, y)
    local a, b = numbers(view(x, layout{size(x)})), numbers(view(y, layout{size(y)}))
    for i, v in pairs(a) do
      if math.abs(v - 2 * b[i]) > 0.01 * math.abs(v) + 1e-3 then return false end
    end
    return true
  end
  print(is_twice(out.gate_up, once), is_twice(out.down, down))
end
-- expect: true	true

-- {====== The router ======

-- The derivative of a sum of weights times d, by differences.
local function check_route(T, E, k, options)
  local logits = randn(f32, row_major{T, E})
  local r = experts.route(logits, k, options)
  local d = randn(f32, T * k)
  local got = experts.route_backward(d, logits, r, options):to("cpu")
  local x, dh, places = logits:to("cpu"), d:to("cpu"), r.places:to("cpu")
  local by_place, chosen, worst = {}, {}, 0
  local ends, e = r.ends:to("cpu"), 0
  for i = 0, T * k - 1 do
    while ends[e] <= i do e = e + 1 end
    by_place[places[i]], chosen[places[i]] = dh[i], e
  end
  local function loss(t, moved, by)
    local function score(j)
      local v = x[{t, j}] + (j == moved and by or 0)
      return options.score == "sigmoid" and 1 / (1 + math.exp(-v)) or math.exp(v)
    end
    local sum, all, total = 0, 0, 0
    for j = 0, E - 1 do all = all + score(j) end
    for c = 0, k - 1 do sum = sum + score(chosen[t * k + c]) end
    if options.normalize == false then sum = options.score == "sigmoid" and 1 or all end
    for c = 0, k - 1 do total = total + by_place[t * k + c] * score(chosen[t * k + c]) / sum end
    return total * (options.scale or 1)
  end
  for t = 0, T - 1 do
    for j = 0, E - 1 do
      local slope = (loss(t, j, 1e-4) - loss(t, j, -1e-4)) / 2e-4
      worst = math.max(worst, math.abs(slope - got[{t, j}]))
    end
  end
  print(options.score, options.normalize, worst < 1e-4 or worst)
end
check_route(9, 6, 2, {})
check_route(7, 5, 3, {normalize = false})
check_route(7, 5, 2, {score = "sigmoid"})
check_route(7, 5, 2, {score = "sigmoid", normalize = false})
check_route(7, 8, 2, {score = "sigmoid", correction_bias = randn(f32, 8), groups = {4, 2},
  scale = 2.5})
check_route(7, 8, 2, {normalize = false, correction_bias = randn(f32, 8), scale = -0.5})
-- expect: nil	nil	true
-- expect: nil	false	true
-- expect: sigmoid	nil	true
-- expect: sigmoid	false	true
-- expect: sigmoid	nil	true
-- expect: nil	false	true

-- {====== Training ======

-- Steps against the gradient of half the squared distance to a target, of weights and router.
do
  local T, D, F, E, k = 32, 16, 16, 4, 2
  local X, target = randn(f32, row_major{T, D}), randn(f32, row_major{T, D})
  local function small(modes) return view(rand(f32, cosize(modes), -0.4, 0.4), modes) end
  local W = { small(layout({2 * F, D, E}, {D, 1, 2 * F * D})),
              small(layout({D, F, E}, {F, 1, D * F})), small(row_major{E, D}) }
  local difference = row_kernel("difference", function(row, y, wanted)
    local d = y - wanted
    return d, row:once(0.5 * row:sum(d * d))
  end)
  local descend = row_kernel("descend", function(_, w, dw) return w - 0.005 * dw end)
  local function flat(t) return view(t, row_major{1, size(t)}) end
  local losses = {}
  for step = 1, 10 do
    local logits = matmul(X, W[3], tensor(f32, row_major{T, E}):to(here))
    local r = experts.route(logits, k)
    local Y = experts.expert_layer(X, W[1], W[2], r)
    local dY, loss = difference(Y, target)
    local _, dW1, dW2, dweights = experts.expert_layer_backward(dY, X, W[1], W[2], r)
    local dlogits = experts.route_backward(dweights, logits, r)
    local dW3 = tensor(f32, row_major{E, D}):to(here)
    matmul(select(dlogits, 1, 0), select(X, 1, 0), dW3)
    for i, dw in ipairs{dW1, dW2, dW3} do descend(flat(W[i]), flat(dw), {out = {flat(W[i])}}) end
    losses[step] = 0
    for _, v in pairs(numbers(loss)) do losses[step] = losses[step] + v end
  end
  local falls = true
  for step = 2, #losses do falls = falls and losses[step] < losses[step - 1] end
  print(falls, losses[#losses] < 0.8 * losses[1])
end
-- expect: true	true
