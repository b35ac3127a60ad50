-- expert_backward.lua: gradients of the layer of experts (expert_layer.lua) and of its router. Gate
-- and up are computed again, unless the layer has kept them. In the order of the experts' rows:
--   both   rows of gate and up            dhidden  dY's rows times down
--   one kernel makes of them their gradients, the weighted hidden rows, and the gradients of the
--   routing weights: in place, unless the rows were kept
--   products of groups of K give the gradients of the weights, whose rows of tokens and of dY are
--   gathered before; one more product gives the tokens', which are added up as Y is
local arguments = require "cuttle.arguments"
local launches = require "cuttle.operator_steps"
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local operator = require "cuttle.matmul"
local parts = require "cuttle.expert_parts"
local selections = require "cuttle.selections"
local tiles = require "cuttle.tiles"
local M = {}

local op <const> = "expert_layer_backward"
local THREADS <const> = 256 -- of a block
local known <const> = { "accumulate", "gradient", "kept", "out", "stream" }

local function fail(format, ...) tiles.fail(op, format, ...) end

-- {====== Arguments ======

-- By name: what a result is like, and the layout of a new one.
local function results_of(p)
  local D, F, E = p.D, p.F, p.E
  return {
    { name = "tokens", layout = row_major{ p.T, D }, is_rows = true },
    { name = "gate_up", layout = layout({ 2 * F, D, E }, { D, 1, 2 * F * D }) },
    { name = "down", layout = layout({ D, F, E }, { F, 1, D * F }) },
    { name = "weights", layout = layout(p.T * p.k), dtype = f32 },
  }
end

local function result_of(wanted, given, X, p)
  local dtype = wanted.dtype or X.dtype
  if given == nil then return on_device.new(X.device, dtype, wanted.layout) end
  local name, modes = "out." .. wanted.name, tostring(shape(wanted.layout))
  arguments.check_tensor(op, given, name, modes, "it launches kernels itself")
  local is_typed = given.dtype == dtype or given.dtype == f32 and not wanted.is_rows
  if tostring(shape(given)) ~= modes or given.device ~= X.device or not is_typed then
    fail("%s is %s %s on %s; expected %s %s on %s", name, given.dtype, shape(given), given.device,
      dtype, modes, X.device)
  end
  if wanted.is_rows then parts.check_rows(op, name, given, p) end
  return given
end

local function read(dY, X, gate_up, down, routing, options)
  options = arguments.options(op, options, known, "{out = {gate_up = G}}")
  local p = parts.read(op, X, gate_up, down, routing)
  parts.check_matrix(op, dY, "dY", 2, "(T,D)", X)
  parts.check_rows(op, "dY", dY, p)
  parts.check_rows(op, "tokens", X, p)
  p.E, p.stream = size(down, 2), options.stream
  p.gradient, p.kept = options.gradient, parts.check_kept(op, options.kept, X, p)
  if p.gradient ~= nil and type(p.gradient) ~= "function" then
    fail("gradient is of type %s; expected a function (gate, up) that returns the hidden number "
      .. "and its derivatives", tiles.type_name(p.gradient))
  end
  local out = options.out or {}
  if type(out) ~= "table" or tiles.type_name(out) == "tensor" then
    fail("out is of type %s; expected tensors by name, as {gate_up = G}", tiles.type_name(out))
  end
  p.beta = options.accumulate and 1.0 or nil
  if p.beta and not (out.gate_up and out.down) then
    fail("accumulate is %s; give what is added to, {out = {gate_up = G, down = D}}",
      tostring(options.accumulate))
  end
  for i, wanted in ipairs(results_of(p)) do p[i] = result_of(wanted, out[wanted.name], X, p) end
  return p
end

-- {====== Between the products ======

-- The hidden number, and its derivatives by gate and by up.
local function of_logistic(logistic)
  return function(gate, up)
    local s = logistic(gate)
    return gate * s * up, s * (1.0 + gate * (1.0 - s)) * up, gate * s
  end
end

local swiglu <const> = of_logistic(function(x) return 1.0 / (1.0 + exp(-x)) end)
local narrow_swiglu <const> = of_logistic(function(x) return fast.rcp(1.0 + fast.exp(-x)) end)

-- Of a row of pairs, gates and ups in a word of two halves or apart, and the gradient of its hidden
-- numbers without the routing weight.
local function derived(row, f, gate, up, dhidden, weight)
  local hidden, by_gate, by_up = f(gate, up)
  local d = dhidden * weight
  return d * by_gate, d * by_up, hidden * weight, row:once(row:sum(dhidden * hidden))
end

local function make_narrow(f, dtype)
  local pair = dtype == f16 and f16x2 or bf16x2
  return row_kernel("expert_gradients", function(row, both, dhidden, weight)
    local gate, up = pair.unpack(both)
    local dgate, dup, hidden, dweight = derived(row, f, gate, up, dhidden, weight)
    return pair(dgate, dup), hidden, dweight
  end, { types = { u32, dtype, f32 } })
end

local function make_wide(f, dtype)
  return row_kernel("expert_gradients", function(row, gate, up, dhidden, weight)
    return derived(row, f, gate, up, dhidden, weight)
  end, { types = { dtype, dtype, dtype, f32 } })
end

local kernel_of = memo.by_fields({ "dtype" }, function(c)
  return (c.dtype.bits == 16 and make_narrow or make_wide)(c.f, c.dtype)
end, "f")

-- The steps that make of both the gradients `to`, and of dhidden the weighted hidden rows, in
-- place.
local function derive(p, X, both, to, dhidden, weights, dweights)
  local function as_column(x) return view(x, layout({ size(x), 1 }, { stride(x, 0), 1 })) end
  local f = p.gradient or (X.dtype.bits == 16 and narrow_swiglu or swiglu)
  local k, once = kernel_of{ f = f, dtype = X.dtype }, as_column(dweights)
  if X.dtype.bits == 16 then
    return k:steps(parts.halves(both), dhidden, as_column(weights),
      { out = { parts.halves(to), dhidden, once }, stream = p.stream })
  end
  local gate, up = parts.halves(both)
  local dgate, dup = parts.halves(to)
  return k:steps(gate, up, dhidden, as_column(weights),
    { out = { dgate, dup, dhidden, once }, stream = p.stream })
end

-- {====== The layer ======

-- Launches or prepares all: f(A, B, C, options) for products, g(steps).
local function each(dY, X, gate_up, down, routing, p, f, g)
  local n, ends, tokens = p.T * p.k, routing.ends, routing.tokens
  local function new(columns) return on_device.new(X.device, X.dtype, row_major{ n, columns }) end
  local function multiply(A, B, C, how)
    how = how or {}
    how.groups, how.stream = ends, p.stream
    f(A, B, C, how)
  end
  local function gathered(x)
    local rows = new(p.D)
    g(selections.gather:steps(x, tokens, { out = rows, stream = p.stream }))
    return rows
  end
  local both, dhidden, rows = new(2 * p.F), new(p.F), new(p.D)
  local own, dy = gathered(X), gathered(dY)
  if not p.kept then multiply(own, gate_up, both) end
  multiply(dy, select(down, 1, 0, 2), dhidden)
  g(derive(p, X, p.kept or both, both, dhidden, routing.weights, p[4]))
  multiply(select(both, 1, 0), select(own, 1, 0), p[2], { beta = p.beta })
  multiply(select(dy, 1, 0), select(dhidden, 1, 0), p[3], { beta = p.beta })
  multiply(both, select(gate_up, 1, 0, 2), rows, { scatter = routing.places })
  g{ parts.sum_step(p, rows, p[1], p.stream) }
end

-- Gradients of no tokens.
local function clear_weights(p)
  if p.beta then return end
  clear(p[2])
  clear(p[3])
end

--- expert_layer_backward(dY, tokens, gate_up, down, routing, options) -> gradients of the tokens,
--- of gate_up, of down and of the routing weights: docs/matmul.md.
function M.expert_layer_backward(dY, X, gate_up, down, routing, options)
  local p = read(dY, X, gate_up, down, routing, options)
  if p.T == 0 then
    clear_weights(p)
  else
    each(dY, X, gate_up, down, routing, p, operator.matmul, launches.run)
  end
  return table.unpack(p, 1, 4)
end

--- The same, as a function that launches it again; and a list of the gradients.
function M.prepare(dY, X, gate_up, down, routing, options)
  local p, list = read(dY, X, gate_up, down, routing, options), {}
  if p.T == 0 then return function() clear_weights(p) end, { table.unpack(p, 1, 4) } end
  each(dY, X, gate_up, down, routing, p, function(...)
    list[#list + 1] = operator.prepare(...)
  end, function(steps) list[#list + 1] = launches.prepare(steps) end)
  return function(...)
    for _, launch in ipairs(list) do launch(...) end
  end, { table.unpack(p, 1, 4) }
end

-- {====== The router ======

-- Of each pair its gradient and its weight without the factor `scale`, to where its token and its
-- expert are in (T,E).
local spread = kernel("spread_weights", function(dweights, weights, tokens, ends, scale, by_expert,
    chosen)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < size(tokens) then
    local e = 0
    while e < size(ends) - 1 and ends[e] <= i do e = e + 1 end
    by_expert[{tokens[i], e}] = dweights[i] * scale
    chosen[{tokens[i], e}] = weights[i] / scale
  end
end)

local logistic <const> = function(x) return 1.0 / (1.0 + exp(-x)) end

-- The gradient of a logit of a row, d and w being those of the weights that were chosen, else 0.
local of_scores <const> = {
  ["softmax true"] = function(row, _, d, w) return w * (d - row:sum(d * w)) end,
  ["softmax false"] = function(row, x, d, w)
    local highest = row:max(x)
    local e = exp(x - highest)
    local sum, all = row:sum(e, d * w)
    return e / sum * (d - all)
  end,
  ["sigmoid true"] = function(row, x, d, w)
    return w * (d - row:sum(d * w)) * (1.0 - logistic(x))
  end,
  ["sigmoid false"] = function(_, _, d, w) return d * w * (1.0 - w) end,
}

local router_kernels = {}

local function router_kernel(score, normalize)
  local key = ("%s %s"):format(score, normalize)
  local f = of_scores[key]
  router_kernels[key] = router_kernels[key]
    or row_kernel("route_gradients", function(row, x, d, w) return f(row, x, d, w) end)
  return router_kernels[key]
end

local function check_gradient(x, n, device)
  local name, expected = "route_backward", "of as many as routing.weights"
  arguments.check_tensor(name, x, "dweights", expected, "it launches kernels itself")
  if x.dtype ~= f32 or rank(x) ~= 1 or size(x) ~= n or x.device ~= device then
    tiles.fail(name, "dweights is %s %s on %s; expected f32 (%d) on %s, the gradient of "
      .. "routing.weights", x.dtype, x.layout, x.device, n, device)
  end
end

--- route_backward(dweights, logits, routing, options) -> the gradient of the logits (T,E), of the
--- options normalize, scale and score that route had: docs/matmul.md.
function M.route_backward(dweights, logits, routing, options)
  options = arguments.options("route_backward", options, { "correction_bias", "groups",
    "normalize", "out", "scale", "score", "stream" }, "{normalize = false}")
  local score, normalize = parts.read_router("route_backward", options)
  if options.scale == 0 then
    tiles.fail("route_backward", "scale is %s; expected a number that is not 0", options.scale)
  end
  parts.check_matrix("route_backward", logits, "logits", 2, "(T,E)")
  parts.check_routing("route_backward", routing, size(logits, 0), size(logits, 1))
  local n, stream = size(routing.tokens), options.stream
  check_gradient(dweights, n, logits.device)
  local function new()
    return on_device.bring(logits.device, zeros(f32, row_major(shape(logits))))
  end
  local by_expert, chosen = new(), new()
  if n > 0 then
    spread{ grid = cdiv(n, THREADS), block = THREADS, stream = stream }(dweights, routing.weights,
      routing.tokens, routing.ends, f32(options.scale or 1), by_expert, chosen)
  end
  return (router_kernel(score, normalize)(logits, by_expert, chosen,
    { out = options.out and { options.out }, stream = stream }))
end

return M
