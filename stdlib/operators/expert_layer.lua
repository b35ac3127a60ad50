-- expert_layer.lua: the feed-forward layer of a mixture of experts, as two grouped products:
-- require "cuttle.expert_layer". The first gathers the tokens' rows as it loads them, unless
-- experts have many, and its epilogue is the gated activation. The epilogue of the second
-- multiplies by the routing weights, and its rows are scattered: each to a row of its own, which a
-- small kernel adds up in the order of the choices, or by atomic operations to the token's row.
-- With `quantize` both multiply rows of 8 bits, which a row kernel makes before, by packed weights.
-- With `kept` the first stores gates and ups, for the gradients, and the activation is a kernel of
-- its own.
local arguments = require "cuttle.arguments"
local backward = require "cuttle.expert_backward"
local on_device = require "cuttle.operator_device"
local memo = require "cuttle.memo"
local operator = require "cuttle.matmul"
local packed = require "cuttle.matmul_packed"
local parts = require "cuttle.expert_parts"
local route = require "cuttle.expert_route"
local selections = require "cuttle.selections"
local steps = require "cuttle.operator_steps"
local tiles = require "cuttle.tiles"
local M = {}

local known <const> = { "activation", "bias", "combine", "configs", "kept", "out", "quantize",
  "stream" }

local function fail(format, ...) tiles.fail("expert_layer", format, ...) end

-- {====== Routing ======

local function named(k, tokens, places, ends, weights)
  return { k = k, tokens = tokens, places = places, ends = ends, weights = weights }
end

--- route(logits, k, options) -> {k =, tokens =, places =, ends =, weights =}: docs/matmul.md.
function M.route(logits, k, options) return named(k, route.call(logits, k, options or {})) end

--- The same, as a function that launches it again; and what it fills.
function M.prepare_route(logits, k, options)
  local launch, results = route.call:prepare(logits, k, options or {})
  clear(results[3]) -- nobody has made the ends yet; on the CPU, who prepares a product reads them
  return launch, named(k, table.unpack(results))
end

-- {====== Arguments ======

local function swiglu(gate, up) return gate / (1.0 + exp(-gate)) * up end

-- The same for what is rounded to 16 bits: a third of the instructions, of an epilogue whose
-- numbers nobody multiplies meanwhile.
local function narrow_swiglu(gate, up) return gate * fast.rcp(1.0 + fast.exp(-gate)) * up end

-- The activation of gpt-oss, whose gate is at most 7, and up from -7 to 7.
local function clamped_swiglu(gate, up)
  local g = min(gate, 7.0)
  return g * fast.rcp(1.0 + fast.exp(-1.702 * g)) * (min(max(up, -7.0), 7.0) + 1.0)
end

local activations <const> = { clamped_swiglu = clamped_swiglu, swiglu = swiglu }

-- The function that the option `activation` is or names.
local function activation_of(option, dtype)
  if option == nil and dtype.bits <= 16 then return narrow_swiglu end
  local found = type(option) == "function" and option or activations[option or "swiglu"]
  if not found then
    fail('activation is %s; expected a function (gate, up), "swiglu" or "clamped_swiglu"',
      tostring(option))
  end
  return found
end

-- Biases {(2F,E), (D,E)} as operands of both products: {} where there are none.
local function biases_of(bias, p, X)
  if bias == nil then return {} end
  if type(bias) ~= "table" then
    fail("bias is of type %s; expected {(2F,E), (D,E)}", tiles.type_name(bias))
  end
  for i, rows in ipairs { 2 * p.F, p.D } do
    local name = ("bias[%d]"):format(i)
    parts.check_matrix("expert_layer", bias[i], name, 2, i == 1 and "(2F,E)" or "(D,E)")
    if size(bias[i], 0) ~= rows or size(bias[i], 1) ~= p.E or bias[i].device ~= X.device then
      fail("%s is %s on %s; expected (%d,%d) on %s", name, shape(bias[i]), bias[i].device, rows,
        p.E, X.device)
    end
  end
  return bias
end

-- By the formats of rows that are multiplied, bits of an element.
local formats <const> = { fp8_rows = 8, int8_rows = 8 }

local function check_quantize(format, X, ...)
  if format == nil then return end
  if not formats[format] then
    fail('quantize is %s; expected "fp8_rows" or "int8_rows"', tostring(format))
  elseif X.dtype.bits ~= 16 then
    fail("tokens are %s; expected f16 or bf16, which quantize makes narrow", X.dtype)
  end
  for i, w in ipairs { ... } do
    local name, kind = i == 1 and "gate_up" or "down", tiles.type_name(w)
    if kind ~= "packed weight" then
      fail("quantize is for packed weights, and %s is a %s", name, kind)
    end
  end
end

-- The option kept of a layer that has gradients.
local function kept_of(options, X, p, ...)
  for i, w in ipairs(options.kept ~= nil and { ... } or {}) do
    local name, kind = i == 1 and "gate_up" or "down", tiles.type_name(w)
    if kind ~= "tensor" then
      fail("kept is for gradients, which need matrices, and %s is a %s", name, kind)
    end
  end
  if options.kept ~= nil and options.bias ~= nil then
    fail("there are kept and bias; expected one of them, as biases have no gradients")
  end
  return parts.check_kept("expert_layer", options.kept, X, p)
end

-- What is computed, and how.
local function read(X, gate_up, down, routing, options)
  options = arguments.options("expert_layer", options, known, '{combine = "atomic"}')
  local p = parts.read("expert_layer", X, gate_up, down, routing, true)
  if stride(X, 1) ~= 1 and p.D > 1 then
    fail("tokens are %s; expected rows whose elements are adjacent", X.layout)
  end
  local combine = options.combine or "sum"
  if combine ~= "sum" and combine ~= "atomic" then
    fail('combine is %s; expected "sum" or "atomic"', tostring(combine))
  end
  p.out = options.out or on_device.bring(X.device,
    combine == "sum" and tensor(X.dtype, row_major{p.T, p.D}) or zeros(f32, row_major{p.T, p.D}))
  parts.check_matrix("expert_layer", p.out, "out", 2, "(T,D)")
  parts.check_rows("expert_layer", "out", p.out, p)
  check_quantize(options.quantize, X, gate_up, down)
  p.combine, p.configs, p.quantize = combine, options.configs or {}, options.quantize
  p.activation = activation_of(options.activation, X.dtype)
  p.stream, p.bias = options.stream, biases_of(options.bias, p, X)
  p.kept = kept_of(options, X, p, gate_up, down)
  return p
end

-- {====== The layer ======

local function weighted(v, e) return v * e.weights[e.m] end
local function weighted_with_bias(v, e) return (v + e.bias[{e.n, e.l}]) * e.weights[e.m] end

-- The activation of sums, times the scales of their tokens and with biases, if there are any.
local gated = memo.by_fields({ "has_scales", "has_bias" }, function(of)
  return function(gate, up, e)
    if of.has_scales then
      local scale = e.scales[e.tokens[e.m]]
      gate, up = gate * scale, up * scale
    end
    if of.has_bias then
      gate, up = gate + e.bias[{2 * e.n, e.l}], up + e.bias[{2 * e.n + 1, e.l}]
    end
    return of.activation(gate, up)
  end
end, "activation")

-- Rows in p's format, or as they are, and the scales of these or nil; run(steps).
local function narrowed(p, x, run)
  if not p.quantize then return x end
  local list, made = require "cuttle.rows"["quantize_" .. p.quantize]:steps(x,
    { stream = p.stream })
  run(list)
  return made[1], view(made[2], size(x, 0))
end

-- The options of the first product, of rows with these scales or nil.
local function options_of_up(p, routing, scales)
  local how = { groups = routing.ends, gather = routing.tokens, glu = true, stream = p.stream,
                config = p.configs[1], epilogue = p.activation }
  if not scales and not p.bias[1] then return how end
  how.operands = { bias = p.bias[1], scales = scales, tokens = scales and routing.tokens }
  how.epilogue = gated { activation = p.activation, has_bias = p.bias[1] ~= nil,
                         has_scales = scales ~= nil }
  return how
end

-- Hidden rows of gates and ups that are kept.
local activate = memo.by_fields({ "dtype" }, function(of)
  local f, how = of.activation, { types = { of.dtype } }
  if of.dtype.bits ~= 16 then
    return row_kernel("activate", function(_, gate, up) return f(gate, up) end, how)
  end
  local pair = of.dtype == f16 and f16x2 or bf16x2
  return row_kernel("activate", function(_, both) return f(pair.unpack(both)) end, how)
end, "activation")

-- The first product of rows x, kept, and the hidden rows.
local function keep(p, x, gate_up, hidden, how, f, run)
  f(x, gate_up, p.kept, { groups = how.groups, gather = how.gather, stream = p.stream,
                          config = how.config })
  local kernel, options = activate{ activation = p.activation, dtype = x.dtype },
    { out = { hidden }, stream = p.stream }
  local gate, up = parts.halves(p.kept)
  if up then return run(kernel:steps(gate, up, options)) end
  run(kernel:steps(gate, options))
end

-- Are rows gathered before the first product, whose TMA is no slower than a gather inside if an
-- expert has so many? They need no memory: what the second product stores has their shape.
local MANY <const> = 512
local function gathers_first(p, X, gate_up)
  return p.T * p.k > MANY * p.E and p.combine == "sum" and X.dtype.bits == 16
    and p.out.dtype == X.dtype and stride(X, 0) == p.D and not p.configs[1]
    and tiles.type_name(gate_up) == "tensor"
end

-- Launches or prepares both products and the rest: f(A, B, C, options) for products, run(steps).
local function each(X, gate_up, down, routing, p, f, run)
  local n, sums, bias = p.T * p.k, p.combine == "sum", p.bias[2]
  local hidden = on_device.new(X.device, X.dtype, row_major{n, p.F})
  local rows = sums and on_device.new(X.device, p.out.dtype, row_major{n, p.D}) or p.out
  local x, scales = narrowed(p, X, run)
  local first = options_of_up(p, routing, scales)
  if gathers_first(p, x, gate_up) then
    run(selections.gather:steps(x, routing.tokens, { out = rows, stream = p.stream }))
    x, first.gather = rows, nil
  end
  local how = { groups = routing.ends, operands = { weights = routing.weights, bias = bias },
                epilogue = bias and weighted_with_bias or weighted, stream = p.stream,
                config = p.configs[2],
                scatter = sums and routing.places or { routing.tokens, "add" } }
  local like = p.quantize and view(recast(hidden, x.dtype), hidden.layout) or hidden
  if packed.ordered(x, gate_up, hidden, first) and packed.ordered(like, down, rows, how) then
    first.orders, how.ordered = x.dtype.bits, true
  end
  if p.kept then
    keep(p, x, gate_up, hidden, first, f, run)
  else
    f(x, gate_up, hidden, first)
  end
  hidden, how.scale_a = narrowed(p, hidden, run)
  f(hidden, down, rows, how)
  if sums then run { parts.sum_step(p, rows, p.out, p.stream) } end
end

--- expert_layer(tokens, gate_up, down, routing, options) -> (T,D): docs/matmul.md.
function M.expert_layer(X, gate_up, down, routing, options)
  local p = read(X, gate_up, down, routing, options)
  if p.T > 0 then
    each(X, gate_up, down, routing, p, operator.matmul, steps.run)
  end
  return p.out
end

--- The same, as a function that launches it again; the result; and the names of the configurations.
function M.prepare(X, gate_up, down, routing, options)
  local p, launches, names = read(X, gate_up, down, routing, options), {}, {}
  if p.T > 0 then
    each(X, gate_up, down, routing, p, function(...)
      launches[#launches + 1], names[#names + 1] = operator.prepare(...)
    end, function(list) launches[#launches + 1] = steps.prepare(list) end)
  end
  return function(...)
    for _, launch in ipairs(launches) do launch(...) end
  end, p.out, names
end

M.expert_layer_backward, M.prepare_backward = backward.expert_layer_backward, backward.prepare
M.route_backward = backward.route_backward

return M
