-- fuzz_attention.lua: attention of random problems with masks and scores, on the device, against
-- reference.attention in double precision: O, LSE and, along a random direction, the gradients. A
-- call has ten packed sequences of random lengths, so that few kernels compute many problems. Two
-- kinds have whole sequences instead, and more heads than the gradients' first kernel works for, so
-- attention_backward_idle.lua, _walk.lua and _tail.lua have their part. The same keys in pages must
-- give the same bits. TAP: one line for each kind
-- of problem: errors of an element to its value, but at least to 1. Of f8e4m3, whose probabilities
-- are rounded to f8e4m3, it is the root of the mean square of O's errors, to that of O. There are
-- scales, and gradients are those of the operands times their scales.
--   cuttle scripts/fuzz_attention.lua CALLS SEED [CONFIG...]
local CALLS <const>, SEED <const> = tonumber(arg[1] or 2), tonumber(arg[2] or 1)
local configs = table.pack(table.unpack(arg, 3))
if #configs == 0 then
  configs = device().sm == 90 and { "hopper 192x80", "mma 64x64", "plain" } or { "plain" }
end

-- Of a configuration of the forward pass, depths of queries and values, the configuration of
-- gradients, and the type.
local known <const> = {
  plain = { 64, 64, "plain", f32 },
  ["mma 64x64"] = { 64, 64, "mma 64x32", bf16 }, ["mma 128x48"] = { 128, 96, "mma 64x32", f16 },
  ["hopper 192x128"] = { 64, 64, "hopper 128x128", bf16 },
  ["hopper 192x80"] = { 128, 128, "hopper 64x128", bf16 },
  ["hopper 128x128"] = { 96, 96, "hopper 64x128", f16 },
  ["hopper 128x128, D 192"] = { 192, 128, "hopper 64x64, Dv 128", bf16 },
  ["hopper 128x96"] = { 192, 192, "hopper 64x64, D 192", bf16 },
  ["hopper 128x64"] = { 256, 256, "hopper 64x64", bf16 },
  ["hopper 192x128, f8"] = { 64, 64, "hopper 128x128", f8e4m3 },
  ["hopper 192x96, f8"] = { 128, 128, "hopper 64x128", f8e4m3 },
  ["hopper 128x128, f8"] = { 128, 128, "hopper 64x128", f8e4m3 },
  ["hopper 128x128, f8, D 192"] = { 192, 128, "hopper 64x64, Dv 128", f8e4m3 },
  ["hopper 128x128, f8, Dv 192"] = { 192, 192, "hopper 64x64, D 192", f8e4m3 },
  ["hopper 128x96, f8"] = { 256, 256, "hopper 64x64", f8e4m3 },
  ["hopper 128x128, f8, D 256"] = { 256, 256, "hopper 64x64", f8e4m3 },
}

local H <const>, HK <const>, N <const>, T <const> = 2, 1, 10, 400
local random = math.random

-- {====== Problems ======

local function slopes() return { random(), random() - 0.5 } end

local function limit() return random(4) == 1 and 0 or random(0, 90) end

local function bend(s, q, k, h, b, t, x)
  if q > k then s = s + x end
  return s * 0.7 + t[(q + k) % 50] - 0.25 * h + 0.01 * b
end

local function slope_of_bend() return 0.7 end

local function stripes(q, k, h, _, x)
  return (q // 4 + k // 4 + h) % 3 ~= 0 or abs(q - k) < x
end

-- Options of a kind of problem, new numbers each time.
local kinds <const> = {
  { "causal", function() return { causal = true } end },
  { "window, soft-cap", function()
    return { window = { limit(), limit() }, softcap = 0.5 + 4 * random() }
  end },
  { "left window, ALiBi, causal", function()
    return { window = { limit(), -1 }, causal = true, alibi = slopes() }
  end },
  { "bias, sinks, lazy", function()
    return { bias = randn(bf16, row_major { H, 1, 1 }), sinks = slopes(), lazy = true }
  end },
  { "score, window", function()
    return { score = bend, score_gradient = slope_of_bend, window = { limit(), limit() },
             operands = { randn(f32, 50), random() } }
  end },
  { "mask, dropout, causal", function()
    return { mask = stripes, dropout = random() / 2, seed = random(1 << 30), causal = true,
             operands = { random(9) } }
  end },
  { "sharp, lazy, causal", function() -- maxima that grow by much
    return { scale = 0.1 + 0.3 * random(), lazy = true, causal = true }
  end },
  { "whole sequences", function() return {} end, is_whole = true },
  { "whole sequences, lazy", function() return { lazy = true } end, is_whole = true },
  { "whole sequences, causal, turns", function() return { causal = true } end, is_whole = true },
}

-- N + 1 places from 0 to n, of which some are equal.
local function starts(n)
  local cuts = { 0, n }
  for i = 1, N - 1 do cuts[i + 2] = random(3) == 1 and cuts[random(#cuts)] or random(0, n) end
  table.sort(cuts)
  return cuts
end

-- {====== Comparison ======

local function flat(t) return view(t, layout { size(t) }):totable() end

local function distance(a, b)
  local worst, y = 0, flat(b)
  for i, x in ipairs(flat(a)) do
    local d = x == y[i] and 0 or math.abs(x - y[i]) / math.max(1, math.abs(y[i]))
    worst = (d ~= d or d > worst) and d or worst
  end
  return worst
end

-- The root of the mean square of differences, of that of b.
local function mean_distance(a, b)
  local sum, squares, y = 0, 0, flat(b)
  for i, x in ipairs(flat(a)) do sum, squares = sum + (x - y[i]) ^ 2, squares + y[i] ^ 2 end
  return math.sqrt(sum / squares)
end

local function to_device(t)
  return type(t) == "userdata" and t.device == "cpu" and device().sm and t:to "cuda" or t
end

-- The same options for the device.
local function own_options(options, changes)
  local own = {}
  for name, x in pairs(options) do own[name] = to_device(x) end
  if own.operands then
    own.operands = {}
    for i, x in ipairs(options.operands) do own.operands[i] = to_device(x) end
  end
  for name, x in pairs(changes) do own[name] = x end
  return own
end

local gradients <const> = dofile "tests/support/gradients.lua"
local with <const> = gradients.with

local function dot(a, b)
  local sum, y = 0, flat(b)
  for i, x in ipairs(flat(a)) do sum = sum + x * y[i] end
  return sum
end

-- The sum of dO O by the reference, of inputs x + h u.
local function loss(x, u, h, dO, options)
  local moved = {}
  for i, t in ipairs(x) do
    local values, along = flat(t), flat(u[i])
    for j, v in ipairs(values) do values[j] = v + h * along[j] end
    moved[i] = view(from_table(f64, values), t.layout)
  end
  local out = zeros(f64, row_major(shape(dO)))
  return dot(dO, (reference.attention(moved[1], moved[2], moved[3], with(options, { out = out }))))
end

local function shape_of_O(x)
  local extents = { table.unpack(shape(x[1])) }
  extents[#extents] = shape(x[3])[#extents]
  return extents
end

-- The configuration of gradients with the least lead and a random number of multiprocessors.
local function idle_config(name)
  for _, config in ipairs(require "cuttle.attention_backward".configs) do
    if config.name == name then return with(config, { lead = 1, n_sms = random(2, 9) }) end
  end
end

-- The gradients' difference from the reference along a random direction, of their length.
local function gradient_error(x, options, O, LSE, config)
  local STEP <const>, u, on_device = 1e-4, {}, {}
  local dO = randn(x[1].dtype == f8e4m3 and bf16 or x[1].dtype, row_major(shape_of_O(x)))
  for i, t in ipairs(x) do
    u[i], on_device[i] = randn(f64, row_major(shape(t))), to_device(t)
  end
  local own = own_options(options, { config = config })
  own.lazy = nil
  if #shape(x[1]) == 4 then
    own.config, own.deterministic = idle_config(config), options.causal and random(2) == 1
  end
  local grads = table.pack(attention_backward(to_device(dO), on_device[1], on_device[2],
    on_device[3], O, LSE, own))
  local wide, plain = gradients.scaled_operands(x, options)
  local slope = (loss(wide, u, STEP, dO, plain) - loss(wide, u, -STEP, dO, plain)) / (2 * STEP)
  local sum, squares = 0, 0
  for i = 1, 3 do
    local g = grads[i]:to "cpu"
    sum, squares = sum + dot(g, u[i]), squares + dot(g, g)
  end
  return math.abs(slope - sum) / math.sqrt(squares)
end

-- Packed keys or values in pages that are their sequences' in a table (b,n), and rows of NaN.
local function in_pages(t, starts_of, page, pages)
  local extents = shape(t)
  local pool = full(t.dtype, row_major { size(pages) + 3, extents[1], page, extents[3] }, 0 / 0)
  for b = 0, size(pages, 0) - 1 do
    for k = 0, starts_of[b + 2] - starts_of[b + 1] - 1 do
      copy(t(_, starts_of[b + 1] + k, _), pool(pages[{ b, k // page }], _, k % page, _))
    end
  end
  return pool
end

-- Do packed keys in pages give the bits of O?
local function is_same_in_pages(x, options, config, O)
  local page, lengths, list = ({ 8, 16, 24, 64 })[random(4)], {}, {}
  local from, width = options.cu_seqlens_k, cdiv(T, page)
  for i = 1, N do lengths[i] = from[i + 1] - from[i] end
  for i = 1, N * width do
    local j = random(i)
    list[i] = list[j]
    list[j] = i - 1
  end
  local pages = view(from_table(i32, list):to "cpu", row_major { N, width })
  local own = own_options(options, { config = config, block_table = to_device(pages),
    cache_seqlens = lengths })
  own.cu_seqlens_k = nil
  local made = attention(to_device(x[1]), to_device(in_pages(x[2], from, page, pages)),
    to_device(in_pages(x[3], from, page, pages)), own)
  return distance(made:to "cpu", O:to "cpu") == 0
end

-- Of tensors on the host: the errors of O, LSE and the gradients, on the device.
local function errors(x, options, config)
  local of = known[config]
  local extents = shape_of_O(x)
  local R = zeros(f64, row_major(extents))
  table.remove(extents)
  local _, RL = reference.attention(x[1], x[2], x[3],
    with(options, { out = R, lse = zeros(f64, row_major(extents)) }))
  local O, LSE = attention(to_device(x[1]), to_device(x[2]), to_device(x[3]),
    own_options(options, { lse = true, config = config }))
  if options.cu_seqlens_k and config ~= "mma 128x48" then
    assert(is_same_in_pages(x, options, config, O), config .. ": pages give other bits")
  end
  local of_gradients = gradient_error(x, options, O, LSE, of[3])
  return (of[4] == f8e4m3 and mean_distance or distance)(O:to "cpu", R),
    distance(LSE:to "cpu", RL), of_gradients
end

local limits <const> = { f32 = 2e-5, f8e4m3 = 4e-2 } -- of O

local function random_tensor(dtype, ...)
  local as = row_major { ... }
  if dtype ~= f8e4m3 then return randn(dtype, as) end
  return view(reference.cast(randn(f32, size(as)):to "cpu", dtype), as)
end

-- Q, K and V of a call, and its options.
local function problem(kind, D, DV, dtype)
  local options = kind[2]()
  if kind.is_whole then
    local B, heads, S, SK = random(2, 3), random(2, 3), random(150), random(150)
    return { random_tensor(dtype, B, heads * random(2), S, D),
             random_tensor(dtype, B, heads, SK, D), random_tensor(dtype, B, heads, SK, DV) },
      options
  end
  options.cu_seqlens_q, options.cu_seqlens_k = starts(T), starts(T)
  return { random_tensor(dtype, H, T, D), random_tensor(dtype, HK, T, D),
           random_tensor(dtype, HK, T, DV) }, options
end

-- A scale for each sequence and head, and each block of 128 tokens, if those are there.
local function scales(heads, starts_of, has_blocks)
  local n = 0
  for i = 1, N do n = math.max(n, cdiv(starts_of[i + 1] - starts_of[i], 128)) end
  local function drawn(extent, ...)
    local t = {}
    for i = 1, extent or 0 do t[i] = ... and drawn(...) or 0.5 + random() end
    return t
  end
  return has_blocks and drawn(N, heads, n) or drawn(N, heads)
end

-- Of 8 bits, operands have scales, of blocks of 128 where the configuration can.
local function add_scales(options, config)
  local has_blocks = random(2) == 1 and not config:find "x96"
  options.q_scale = scales(H, options.cu_seqlens_q, has_blocks)
  options.k_scale = scales(HK, options.cu_seqlens_k, has_blocks)
  options.v_scale = scales(HK, options.cu_seqlens_k, has_blocks)
end

local function try(config, kind)
  local D, DV, _, dtype = table.unpack(known[config], 1, 4)
  local worst = { 0, 0, 0 }
  for _ = 1, CALLS do
    local x, options = problem(kind, D, DV, dtype)
    if dtype == f8e4m3 and not kind.is_whole then add_scales(options, config) end
    for i, e in ipairs { errors(x, options, config) } do
      if e ~= e or e > worst[i] then worst[i] = e end
    end
  end
  local is_ok = worst[1] < (limits[dtype.name] or 2e-2)
    and worst[2] < (dtype == f8e4m3 and 1e-2 or 1e-4)
    and worst[3] < (dtype == f32 and 1e-5 or 3e-2)
  return worst, is_ok
end

math.randomseed(SEED)
manual_seed(SEED)
print(("1..%d"):format(#configs * #kinds))
local number, failed = 0, 0
for _, config in ipairs(configs) do
  for _, kind in ipairs(kinds) do
    local worst, is_ok = try(config, kind)
    number, failed = number + 1, failed + (is_ok and 0 or 1)
    print(("%s %d - %s, %s: %d problems, errors %.1e, %.1e, %.1e"):format(
      is_ok and "ok" or "not ok", number, config, kind[1], CALLS * (kind.is_whole and 1 or N),
      table.unpack(worst)))
  end
end
os.exit(failed == 0)
