-- expert_layer.lua: the feed-forward layer of a mixture of experts, as two grouped products:
-- require "cuttle.expert_layer". The first gathers the tokens' rows as it loads them, and its
-- epilogue is the gated activation. The epilogue of the second multiplies by the routing weights,
-- and its rows are scattered: each to a row of its own, which a small kernel adds up in the order
-- of the choices, or by atomic operations to the token's row.
local arguments = require "cuttle.arguments"
local on_device = require "cuttle.operator_device"
local operator = require "cuttle.matmul"
local route = require "cuttle.expert_route"
local tiles = require "cuttle.tiles"
local M = {}

local THREADS <const>, VECTOR_BITS <const> = 256, 128
local known <const> = { "activation", "combine", "configs", "out", "stream" }
local parts_of_routing <const> = { "tokens", "places", "ends", "weights" }

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

local function check_matrix(x, name, rank_of, modes, like)
  arguments.check_tensor("expert_layer", x, name, modes, "it launches kernels itself")
  if rank(x) ~= rank_of then fail("%s is %s; expected %s", name, x.layout, modes) end
  if like and (x.device ~= like.device or x.dtype ~= like.dtype) then
    fail("%s is %s on %s but tokens are %s on %s; expected one type and one device", name, x.dtype,
      x.device, like.dtype, like.device)
  end
end

local function check_extent(name, t, mode, expected, what)
  if size(t, mode) ~= expected then
    fail("%s is %s; expected %d for %s", name, shape(t), expected, what)
  end
end

local function check_routing(routing, n_tokens, n_experts)
  if type(routing) ~= "table" or math.type(routing.k) ~= "integer" then
    fail("routing is of type %s; expected what route(logits, k) returns", tiles.type_name(routing))
  end
  for _, name in ipairs(parts_of_routing) do
    local t = routing[name]
    local n = name == "ends" and n_experts or n_tokens * routing.k
    local is_tensor = tiles.type_name(t) == "tensor"
    if not is_tensor or size(t) ~= n then
      fail("routing.%s is %s; expected %d elements, as there are %d tokens of %d choices and %d "
        .. "experts", name, is_tensor and tostring(shape(t)) or tiles.type_name(t), n,
        n_tokens, routing.k, n_experts)
    end
  end
end

-- What is computed: T tokens of D numbers, F hidden ones.
local function read(X, gate_up, down, routing, options)
  options = arguments.options("expert_layer", options, known, '{combine = "atomic"}')
  check_matrix(X, "tokens", 2, "(T,D)")
  check_matrix(gate_up, "gate_up", 3, "(2F,D,E)", X)
  check_matrix(down, "down", 3, "(D,F,E)", X)
  local T, D, F, E = size(X, 0), size(X, 1), size(down, 1), size(down, 2)
  check_extent("gate_up", gate_up, 0, 2 * F, "2F, as down is (D,F,E)")
  check_extent("gate_up", gate_up, 1, D, "D, as tokens are (T,D)")
  check_extent("gate_up", gate_up, 2, E, "E, as down is (D,F,E)")
  check_extent("down", down, 0, D, "D, as tokens are (T,D)")
  check_routing(routing, T, E)
  local combine = options.combine or "sum"
  if combine ~= "sum" and combine ~= "atomic" then
    fail('combine is %s; expected "sum" or "atomic"', tostring(combine))
  end
  local out = options.out or on_device.bring(X.device,
    combine == "sum" and tensor(X.dtype, row_major{T, D}) or zeros(f32, row_major{T, D}))
  check_matrix(out, "out", 2, "(T,D)")
  if tostring(out.layout) ~= tostring(row_major{T, D}) then
    fail("out is %s; expected row_major{%d, %d}", out.layout, T, D)
  end
  return { T = T, D = D, F = F, out = out, combine = combine, configs = options.configs or {},
           activation = options.activation, stream = options.stream, k = routing.k }
end

-- {====== The layer ======

local function swiglu(gate, up) return gate / (1.0 + exp(-gate)) * up end

-- The same for what is rounded to 16 bits: a third of the instructions, of an epilogue whose
-- numbers nobody multiplies meanwhile.
local function narrow_swiglu(gate, up) return gate * fast.rcp(1.0 + fast.exp(-gate)) * up end

local function weighted(v, e) return v * e.weights[e.m] end

local sums = {} -- kernels, by the choices and the elements of a vector

-- Adds the rows of a token's choices (D,k,T) in f32, in their order.
local function sum_kernel(k, n)
  local key = k .. " " .. n
  sums[key] = sums[key] or kernel("sum_choices", function(rows, out)
    local at = blockIdx.x * THREADS + threadIdx.x
    local vectors = size(out, 0) // n
    if at >= vectors * size(out, 1) then return end
    local token, held = at // vectors, fragment(rows.dtype, {n, k})
    for j = 0, k - 1 do copy(tile(rows(_, j, token), {n}, {at % vectors}), held(_, j)) end
    local sum = fragment(f32, n)
    clear(sum)
    for j = 0, k - 1 do
      for i = 0, n - 1 do sum[i] = sum[i] + cast(held[{i, j}], f32) end
    end
    copy(cast(sum, out.dtype), tile(out(_, token), {n}, {at % vectors}))
  end)
  return sums[key]
end

-- What adds up rows, {kernel =, launch =, args =}.
local function sum_step(p, rows)
  local n = VECTOR_BITS // rows.dtype.bits
  while p.D % n ~= 0 do n = n // 2 end
  return { kernel = sum_kernel(p.k, n),
           args = { view(rows, layout{p.D, p.k, p.T}), view(p.out, layout{p.D, p.T}) },
           launch = { grid = cdiv(p.T * (p.D // n), THREADS), block = THREADS, stream = p.stream } }
end

-- Launches or prepares both products and the sum: f(A, B, C, options) for products, g(step).
local function each(X, gate_up, down, routing, p, f, g)
  local n = p.T * p.k
  local hidden = on_device.new(X.device, X.dtype, row_major{n, p.F})
  local activation = p.activation or X.dtype.bits <= 16 and narrow_swiglu or swiglu
  f(X, gate_up, hidden, { groups = routing.ends, gather = routing.tokens, glu = true,
    epilogue = activation, stream = p.stream, config = p.configs[1] })
  local how = { groups = routing.ends, operands = { weights = routing.weights },
                epilogue = weighted, stream = p.stream, config = p.configs[2] }
  if p.combine == "atomic" then
    how.scatter = { routing.tokens, "add" }
    return f(hidden, down, p.out, how)
  end
  local rows = on_device.new(X.device, p.out.dtype, row_major{n, p.D})
  how.scatter = routing.places
  f(hidden, down, rows, how)
  g(sum_step(p, rows))
end

--- expert_layer(tokens, gate_up, down, routing, options) -> (T,D): docs/matmul.md.
function M.expert_layer(X, gate_up, down, routing, options)
  local p = read(X, gate_up, down, routing, options)
  if p.T > 0 then
    each(X, gate_up, down, routing, p, operator.matmul, function(step)
      step.kernel(step.launch)(table.unpack(step.args))
    end)
  end
  return p.out
end

--- The same, as a function that launches it again; the result; and the names of the configurations.
function M.prepare(X, gate_up, down, routing, options)
  local p, launches, names = read(X, gate_up, down, routing, options), {}, {}
  if p.T > 0 then
    each(X, gate_up, down, routing, p, function(...)
      launches[#launches + 1], names[#names + 1] = operator.prepare(...)
    end, function(step)
      launches[#launches + 1] = step.kernel:prepare(step.launch)(table.unpack(step.args))
    end)
  end
  return function()
    for _, launch in ipairs(launches) do launch() end
  end, p.out, names
end

return M
