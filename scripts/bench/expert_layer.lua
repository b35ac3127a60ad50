-- expert_layer.lua: the layer of a mixture of experts (docs/matmul.md#a-layer-of-experts) beside
-- PyTorch: rows by an index, torch._grouped_mm, the activation, torch._grouped_mm, and the weighted
-- sum (expert_peer.py, in a process of its own, which takes the faster of eager and compiled). In
-- bf16, in the regimes of regimes.lua. `in steps` is the same products of ours without an index:
-- rows are gathered before. `routed` includes the router, from logits on.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/expert_layer.lua [--quick]
--     [--config=UP/DOWN ...] [--parts] [--backward] [--packed=TYPE[:GROUP] ...] [--variants=FILE]
--     [--quantize=FORMAT] [--alone] [--graph] [TxDxFxExK ...]
-- With --parts the products alone, too. With --backward the gradients instead, computed from the
-- layer's arguments, and from these and what it kept: PyTorch's keep what the layer computed. With
-- --packed the layer of packed weights (docs/matmul.md#weights-of-few-bits), too, for each type,
-- "mxfp4" among them; FILE returns a list of pairs of their configurations, {UP, DOWN, name =},
-- tables of fields, or false; FORMAT, "fp8_rows" or "int8_rows", is that of what they multiply,
-- too. --alone: without PyTorch and other ways to compute it. --graph: what is timed are graphs of
-- ten layers, for few tokens, as the host needs more time for a launch than the device.
-- On the CPU engine it takes one small layer.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local beside = require "torch_beside"
local configs = require "configs"
local data = require "data"
local experts = require "cuttle.expert_layer"
local operator = require "cuttle.matmul"
local packed = require "cuttle.packed_weights"
local selections = require "cuttle.selections"

local sizes <const> = { { 4096, 2048, 768, 128, 8 }, { 8192, 4096, 14336, 8, 2 },
                        { 4096, 7168, 2048, 32, 8 }, { 64, 2048, 768, 128, 8 } }

local IN_GRAPH <const> = 10
local NARROW_BOUND <const> = 0.1 -- relative, where what is multiplied is rounded to 8 bits

-- A layer, or as many in a graph.
local function timed(launch, options)
  if not options.graph then return launch end
  return ct.graph(function()
    for _ = 1, IN_GRAPH do launch() end
  end)
end

local function operand(extents, strides, n, seed)
  return ct.view(data.normal(ct.bf16, n, seed), ct.layout(extents, strides))
end

local fast = ct.fast

local function swiglu(gate, up) return gate * fast.rcp(1.0 + fast.exp(-gate)) * up end

local clear = ct.kernel("clear", function(x)
  local i = ct.blockIdx.x * 256 + ct.threadIdx.x
  if i < ct.size(x) then x[i] = 0.0 end
end)

-- Each product of the layer alone, and the products without an index or an activation.
local function parts(list, set, T, D, F, k, options)
  local r, M = set.routing, T * k
  local hidden, rows = ct.tensor(ct.bf16, ct.row_major { M, F }),
    ct.tensor(ct.bf16, ct.row_major { M, D })
  local gathered, both = ct.tensor(ct.bf16, ct.row_major { M, D }),
    ct.tensor(ct.bf16, ct.row_major { M, 2 * F })
  local function add(text, A, B, C, how)
    how.groups = r.ends
    local ok, launch, name = pcall(operator.prepare, A, B, C, how)
    if not ok then return print(text .. ": " .. launch) end
    beside.add(list, ("%s: %s"):format(text, name), launch, C, C)
  end
  local ups, downs = { false }, { false }
  for _, pair in ipairs(options.configs) do
    local up, down = pair:match "^(.-)/(.*)$"
    ups[#ups + 1], downs[#downs + 1] = up ~= "" and configs.by_name(up) or nil,
      down ~= "" and configs.by_name(down) or nil
  end
  add("  up, plain", gathered, set.W1, both, {})
  add("  up, glu", gathered, set.W1, hidden, { glu = true, epilogue = swiglu })
  for _, config in ipairs(ups) do
    add("  up, gather and glu", set.X, set.W1, hidden, { gather = r.tokens, glu = true,
      epilogue = swiglu, config = config or nil })
  end
  add("  down, plain", hidden, set.W2, rows, {})
  for _, config in ipairs(downs) do
    add("  down, scatter", hidden, set.W2, rows, { scatter = r.places, config = config or nil })
  end
end

-- The first product of rows that a kernel has gathered, then the second.
local function in_steps(set, T, D, F, k)
  local rows = ct.tensor(ct.bf16, ct.row_major { T * k, D })
  local hidden, products = ct.tensor(ct.bf16, ct.row_major { T * k, F }),
    ct.tensor(ct.bf16, ct.row_major { T * k, D })
  local r = set.routing
  local gather = selections.gather:prepare(set.X, r.tokens, { out = rows })
  local up = operator.prepare(rows, set.W1, hidden, { groups = r.ends, glu = true,
    epilogue = swiglu })
  local down, name = operator.prepare(hidden, set.W2, products, { groups = r.ends })
  return function()
    gather()
    up()
    down()
  end, name
end

local function room_to_keep(T, F, k) return ct.tensor(ct.bf16, ct.row_major { T * k, 2 * F }) end

-- The gradients, and with --parts the products of groups of K alone.
local function gradients(set, size, options, peer)
  local T, D, F, E, k = table.unpack(size)
  local dY = operand({ T, D }, { D, 1 }, T * D, 5)
  local launch, made = experts.prepare_backward(dY, set.X, set.W1, set.W2, set.routing)
  local list = {}
  beside.add(list, "* gradients", launch, made[1], made[1])
  local how = { kept = room_to_keep(T, F, k) }
  experts.expert_layer(set.X, set.W1, set.W2, set.routing, how)
  local of_kept, same = experts.prepare_backward(dY, set.X, set.W1, set.W2, set.routing, how)
  beside.add(list, "* gradients, kept", of_kept, same[1], made[1])
  local function add(text, rows, columns, C, config)
    local function operand_of(n, seed)
      return ct.select(operand({ T * k, n }, { n, 1 }, T * k * n, seed), 1, 0)
    end
    local ok, product, name = pcall(operator.prepare, operand_of(rows, 6), operand_of(columns, 7),
      C, { groups = set.routing.ends, config = config or nil })
    if not ok then return print(text .. ": " .. product) end
    beside.add(list, ("%s: %s"):format(text, name), product, C, C)
  end
  local tried = { false }
  for _, name in ipairs(options.configs) do tried[#tried + 1] = configs.by_name(name) end
  for _, config in ipairs(options.parts and tried or {}) do
    add("  of gate and up", 2 * F, D, made[2], config)
    add("  of down", D, F, made[3], config)
  end
  if peer then beside.add_peer(list, peer, "torch", "data %d %d %d %d %d 2", T, D, F, E, k) end
  beside.time(list, ("bf16, gradients, %d tokens of %d, %d of %d experts of %d"):format(T, D, k, E,
    F), 12 * T * k * D * F, options)
end

local function packed_of(W, text)
  local name, group = text:match "^(%w+):?(%d*)$"
  local is_mx = name == "mxfp4"
  if is_mx then name = "f4e2m1" end
  local codes, scales, zeros = packed.quantize_weights(W, { type = name,
    group = is_mx and 32 or math.tointeger(group) or 128, zero_points = name:find "^u" ~= nil,
    scale_type = is_mx and ct.f8ue8m0 or nil })
  local w = packed.pack_weights(codes, { type = name, scales = scales, zero_points = zeros })
  for _, t in ipairs { codes, scales, zeros } do t:close() end
  return w
end

-- Both products of packed weights, each alone.
local function add_packed_parts(list, set, weights, k, pair, options)
  local r, n = set.routing, ct.size(set.X, 0) * k
  local hidden = ct.tensor(ct.bf16, ct.row_major { n, ct.size(set.W2, 1) })
  local rows = ct.tensor(ct.bf16, ct.row_major { n, ct.size(set.X, 1) })
  local function add(text, A, w, C, how)
    how.groups = r.ends
    local ok, launch, name = pcall(operator.prepare, A, w, C, how)
    if not ok then return print(("%s: %s"):format(text, launch)) end
    beside.add(list, ("  %s: %s %s"):format(text, name, pair and pair.name or ""),
      timed(launch, options), C, C)
  end
  add("up, packed", set.X, weights[1], hidden, { gather = r.tokens, glu = true, epilogue = swiglu,
    config = pair and pair[1] or nil })
  add("down, packed", hidden, weights[2], rows, { scatter = r.places,
    config = pair and pair[2] or nil })
end

-- Layers of packed weights, compared with one of the matrices that these are.
local function add_packed(list, set, text, options, plain, k)
  local up, down = packed_of(set.W1, text), packed_of(set.W2, text)
  local W1, W2 = up:dequantize(ct.bf16), down:dequantize(ct.bf16)
  local expected = experts.expert_layer(set.X, W1, W2, set.routing, { configs = { plain, plain } })
  ct.synchronize()
  W1:close()
  W2:close()
  local function add(pair, format)
    local ok, launch, out, names = pcall(experts.prepare, set.X, up, down, set.routing,
      { configs = pair or nil, quantize = format })
    if not ok then return print(("%s: %s"):format(text, launch)) end
    beside.add(list, ("%s %s: %s; %s %s"):format(text, format or "", names[1], names[2],
      pair and pair.name or ""), timed(launch, options), out, expected, format and NARROW_BOUND)
    if options.parts and not format then
      add_packed_parts(list, set, { up, down }, k, pair, options)
    end
  end
  for _, pair in ipairs(options.variants) do
    if not options.quantize or not pair then add(pair) end
    if options.quantize then add(pair, options.quantize) end
  end
end

local function measure(size, options, layer, whole)
  local T, D, F, E, k = table.unpack(size)
  local set = { X = operand({ T, D }, { D, 1 }, T * D, 1),
                W1 = operand({ 2 * F, D, E }, { D, 1, 2 * F * D }, 2 * F * D * E, 2),
                W2 = operand({ D, F, E }, { F, 1, F * D }, F * D * E, 3) }
  local logits = ct.view(data.normal(ct.f32, T * E, 4), ct.row_major { T, E })
  local route
  route, set.routing = experts.prepare_route(logits, k)
  route()
  if options.backward then return gradients(set, size, options, layer) end
  local plain = ct.device().sm and "mma 64x64x64" or "cpu 32x32x8"
  local expected = experts.expert_layer(set.X, set.W1, set.W2, set.routing,
    { configs = { plain, plain } })
  local list = {}
  local function add(text, how, before)
    for i, name in ipairs(how.configs or {}) do how.configs[i] = configs.by_name(name) end
    local ok, launch, out, names = pcall(experts.prepare, set.X, set.W1, set.W2, set.routing, how)
    if not ok then return print(text .. ": " .. launch) end
    local all = before and function()
      before(out)
      launch()
    end or launch
    beside.add(list, ("%s: %s; %s"):format(text, names[1], names[2]), timed(all, options), out,
      expected)
  end
  add("* layer", {})
  for _, pair in ipairs(options.configs) do
    add("layer", { configs = { pair:match "^(.-)/(.*)$" } })
  end
  for _, text in ipairs(options.packed) do add_packed(list, set, text, options, plain, k) end
  if not options.alone then
    add("atomic", { combine = "atomic" }, function(out)
      clear { grid = ct.cdiv(T * D, 256), block = 256 }(ct.view(out, T * D))
    end)
    add("routed", {}, function() route() end)
    add("kept", { kept = room_to_keep(T, F, k) })
    local steps, name = in_steps(set, T, D, F, k)
    beside.add(list, "in steps, no sum: " .. name, steps, expected, expected)
  end
  if options.parts and not options.alone then parts(list, set, T, D, F, k, options) end
  for text, peer in pairs { ["torch"] = layer, ["torch routed"] = whole } do
    beside.add_peer(list, peer, text, "data %d %d %d %d %d %d", T, D, F, E, k,
      text == "torch" and 0 or 1)
  end
  beside.time(list, ("bf16, %d tokens of %d, %d of %d experts of %d"):format(T, D, k, E, F),
    6 * T * k * D * F * (options.graph and IN_GRAPH or 1), options)
end

local flags <const> = { alone = true, backward = true, graph = true, parts = true }

local function own_word(options, word)
  local name, value = word:match "^%-%-(%a+)=?(.*)$"
  if name == "packed" then
    table.insert(options.packed, value)
    return true
  elseif name == "quantize" then
    options.quantize = value
    return true
  elseif name == "variants" then
    options.variants = dofile(value)
    return true
  end
  if not flags[name] or value ~= "" then return false end
  options[name] = true
  return true
end

local options = beside.arguments("4096x2048x768x128x8", sizes, { 20, 128, 64, 4, 2 }, own_word,
  { packed = {}, variants = { false } })
local layer = not options.alone and beside.start "expert_peer" or nil
local whole = layer and not options.backward and beside.start "expert_peer" or nil
for _, size in ipairs(options.sizes) do measure(size, options, layer, whole) end
for _, peer in pairs { layer, whole } do peer:close() end
